import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Job records',
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
    cancel: 'The record says `cancelled`, and is kept as long as records of done jobs.',
    remove: 'The record is deleted with the job. A store beside the queue keeps it as `cancelled`.',
    update: 'The record gets the new payload, priority and time, also in a store beside the queue.',
    clear: 'The records are deleted with the jobs. A store beside the queue keeps them as `cancelled`.',
    purge:
      'Records of jobs that ended before the given age are deleted, dead letters too. A longer `retention` keeps its records that much longer.',
    retention:
      'The record is deleted when its time is over. With 0 it is deleted when the job ends, so a dead letter with 0 cannot be retried.',
    'retry of a dead letter': 'The record says `pending` again, and keeps the earlier attempts.',
    'edit of a dead letter': 'The record says `pending` again, and keeps the earlier attempts.',
    'discard of a dead letter': 'The record is deleted with the dead letter.',
    'a store that is away':
      'The job still runs if the queue answers. Its end is written when the store is back.',
    'a worker that is killed': 'The record says `processing` until the lease ends, and then `retrying`.',
    'a stale owner': 'The stale worker writes nothing: progress and end come from the owner of the lease.',
    move: 'The source forgets jobs that have moved. Records of done jobs stay there.',
    'a late relay of an outbox': '`status(id)` says `pending`, and lists do not show the job.',
    failover: '`status(id)` looks in all backends, starting with the first.',
    'a transaction':
      'The same commit writes the record. In a store beside the queue it is written just after the commit.',
    'another tenant over HTTP': 'The routes answer 404, as for a job that does not exist.',
    check: 'Records need nothing from a backend. The check names the features that need records.',
  },
} satisfies Crossings;
