import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Unique jobs, debounce and throttle',
  page: 'unique',
  on: {
    ...asTheJob(
      'promote',
      'discard of a dead letter',
      'a stale owner',
      'a second delivery',
      'a process without the backend',
      'another release',
      'an isolated handler',
    ),
    cancel: 'The key is free: the next call makes a job. With `forMs` it stays taken to its time.',
    remove: 'The key is free: the next call makes a job. With `forMs` it stays taken to its time.',
    update: 'The key stays that of the call that enqueued the job, whatever the new payload says.',
    clear: 'The keys of the jobs are free, except those with `forMs`.',
    purge: 'A job that has ended has no key any more. With `forMs` the key outlives the record.',
    retention: 'A job that has ended has no key any more. With `forMs` the key outlives the record.',
    'retry of a dead letter':
      'It does not look for others: a job that took its key meanwhile stands beside it.',
    'edit of a dead letter':
      'It does not look for others: a job that took its key meanwhile stands beside it.',
    'a store that is away': 'The call throws `BACKEND` before anything is sent.',
    'a sender that is frozen':
      'Calls with its key throw `BACKEND` after 10 s, and take the key over after 30 s. When it goes on, it finds the other job and takes its own back.',
    'a worker that is killed':
      'With `either` the job stands until an attempt has ended it. With `running` the key is free until the next attempt begins.',
    "a step of the host's clock":
      'Postgres and Redis go by their own clock. Elsewhere `forMs` and `waitMs` end early.',
    move: 'Keys stay behind: a job enqueued at the target knows nothing of a moved one.',
    'a late relay of an outbox': 'A job in the outbox stands, however late the relay is.',
    failover: 'Each backend has keys of its own unless they share a store: one job may stand on each.',
    'a transaction': {
      refuses: 'OPTION',
      means:
        '`tx` is refused: the key is not part of the transaction, and would stand for a job that may never be.',
    },
    'another tenant over HTTP': 'A key counts per tenant, so no tenant finds the job of another one.',
    testApp: 'It holds as elsewhere, by the clock of the test.',
    check: {
      refuses: 'CONFIG',
      means:
        'Named is each job whose key needs records, or the change of a waiting job (`replace`, `debounce`), on a backend without.',
    },
  },
} satisfies Crossings;
