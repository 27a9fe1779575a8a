import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Numbers of attempts',
  page: 'metrics',
  on: {
    ...asTheJob(
      'update',
      'promote',
      'retry of a dead letter',
      'edit of a dead letter',
      'a sender that is frozen',
      'another release',
    ),
    cancel: 'An attempt that was ended counts as `cancelled`. A job that waited is not counted.',
    remove: 'A job that waited is not counted.',
    clear: 'Jobs that waited are not counted.',
    purge: 'Numbers stay: hours for 40 days, days for 400.',
    retention: 'Numbers stay: hours for 40 days, days for 400.',
    'discard of a dead letter': 'Numbers stay: the attempt was counted when it ended.',
    'a store that is away':
      'They are written when it is back. Beyond 6,000 entries the older half is dropped, and an event says so.',
    'a worker that is killed': 'What it counted within the last 10 s is lost.',
    'a stale owner': 'Its attempt counts as `lost`.',
    'a second delivery': 'A copy whose key is done counts as `skipped`.',
    "a step of the host's clock":
      'An attempt counts in the minute that its host says. A clock that is put back by up to 5 minutes goes on in its last one.',
    move: 'They stay at the source.',
    'a late relay of an outbox':
      'The wait of a job begins at its own time, so the time in the outbox is part of it.',
    failover: 'An attempt counts on the backend that the job ran on, and `metrics()` adds up all.',
    'a process without the backend': '`metrics()` adds up the backends that the process uses.',
    'a transaction': 'An attempt whose commit fails counts as failed.',
    'an isolated handler': 'The memory is that of the isolate.',
    'another tenant over HTTP': '`GET /metrics` answers 403 to a credential that is bound to a tenant.',
    testApp: 'Nothing is counted: a test has no worker.',
    check: 'It asks nothing of a backend. Where none are kept `metrics()` throws `CONFIG`.',
  },
} satisfies Crossings;
