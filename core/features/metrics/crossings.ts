import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Metrics',
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
    cancel: 'A cancelled attempt counts as `cancelled`. A waiting job is not counted.',
    remove: 'A waiting job is not counted.',
    clear: 'Waiting jobs are not counted.',
    purge: 'The numbers stay: hours for 40 days, days for 400.',
    retention: 'The numbers stay: hours for 40 days, days for 400.',
    'discard of a dead letter': 'The numbers stay: the attempt was counted when it ended.',
    'a store that is away':
      'The numbers are written when the store is back. Beyond 6,000 entries the older half is dropped, and an event says so.',
    'a worker that is killed': 'The counts of its last 10 s are lost.',
    'a stale owner': 'Its attempt counts as `lost`.',
    'a second delivery': 'A copy whose key is already completed counts as `skipped`.',
    "a step of the host's clock":
      "An attempt counts in the minute of its host's clock. If the clock is set back by up to 5 minutes, counting goes on in the latest minute.",
    move: 'The numbers stay at the source.',
    'a late relay of an outbox':
      'The wait of a job starts when the job was to run, so it includes the time in the outbox.',
    failover: 'An attempt counts on the backend where the job ran. `metrics()` adds up all backends.',
    'a process without the backend': '`metrics()` adds up the backends that the process uses.',
    'a transaction': 'An attempt whose commit fails counts as failed.',
    'an isolated handler': "The memory figure is the isolate's.",
    'another tenant over HTTP': '`GET /metrics` answers 403 to a credential that is bound to a tenant.',
    testApp: 'Nothing is counted: a test has no worker.',
    check: 'Metrics need nothing from the queue. Without a store for metrics, `metrics()` throws `CONFIG`.',
  },
} satisfies Crossings;
