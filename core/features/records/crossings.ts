import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Records of jobs',
  page: 'lifecycle',
  on: {
    ...asTheJob(
      'promote',
      'a sender that is frozen',
      'a second delivery',
      "a step of the host's clock",
      'a process without the backend',
      'another release',
      'an isolated handler',
      'testApp',
    ),
    cancel: 'It says `cancelled`, and is kept as the store keeps records of done jobs.',
    remove: 'It goes with the job. A store beside the queue keeps it as `cancelled`.',
    update: 'It has the new payload, priority and time, also in a store beside the queue.',
    clear: 'They go with the jobs. A store beside the queue keeps them as `cancelled`.',
    purge:
      'Those of jobs that ended before the given age are gone, dead letters too. Records with a longer `retention` are kept that much longer.',
    retention:
      'It goes when its time is over. With 0 it goes with the end of the job, and a dead letter that is kept for 0 ms cannot be retried.',
    'retry of a dead letter': 'It says `pending` again, and keeps the attempts that there were.',
    'edit of a dead letter': 'It says `pending` again, and keeps the attempts that there were.',
    'discard of a dead letter': 'It goes with the dead letter.',
    'a store that is away':
      'The job runs all the same where the queue answers, and its end is written when the store is back.',
    'a worker that is killed': 'It says `processing` until the lease is over, and `retrying` then.',
    'a stale owner': 'It writes nothing: progress and end are those of the owner of the lease.',
    move: 'The source forgets jobs that have left. Records of jobs that are done stay there.',
    'a late relay of an outbox': '`status(id)` says `pending`, and lists do not show the job.',
    failover: '`status(id)` looks in all backends, the first one before the others.',
    'a transaction':
      'It is written by the same commit. In a store beside the queue it is written just after it.',
    'another tenant over HTTP': 'Its routes answer 404, as for a job that does not exist.',
    check: 'It asks nothing of a backend. Features that need records are named themselves.',
  },
} satisfies Crossings;
