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
    cancel:
      'The key is free: the next call makes a job. With `forMs` the key stays taken until that time is over.',
    remove:
      'The key is free: the next call makes a job. With `forMs` the key stays taken until that time is over.',
    update: 'The job keeps the key that it was enqueued with, whatever the new payload says.',
    clear: 'The keys of the jobs are free, except keys with `forMs`.',
    purge: 'A job that has ended no longer holds its key. With `forMs` the key outlives the record.',
    retention: 'A job that has ended no longer holds its key. With `forMs` the key outlives the record.',
    'retry of a dead letter':
      'The retry does not check the key: a job that took the key meanwhile is active beside it.',
    'edit of a dead letter':
      'The retry does not check the key: a job that took the key meanwhile is active beside it.',
    'a store that is away': 'The call throws `BACKEND` before anything is sent.',
    'a sender that is frozen':
      'Calls with its key throw `BACKEND` after 10 s, and take the key over after 30 s. When the sender wakes up, it finds the other job and withdraws its own.',
    'a worker that is killed':
      'With `either` the key stays taken until an attempt has ended the job. With `running` the key is free until the next attempt begins.',
    "a step of the host's clock":
      'Postgres and Redis use their own clock. Elsewhere `forMs` and `waitMs` end early.',
    move: 'Keys stay behind: a job enqueued at the target does not see a moved job.',
    'a late relay of an outbox': 'A job in the outbox holds its key, however late the relay is.',
    failover: 'Each backend has its own keys unless they share a store: one job may be active on each.',
    'a transaction': {
      refuses: 'OPTION',
      means:
        '`tx` is refused: the key is not part of the transaction, and would stay taken after a rollback.',
    },
    'another tenant over HTTP': 'A key counts per tenant, so no tenant meets the job of another.',
    testApp: 'Keys work as in production, by the clock of the test.',
    check: {
      refuses: 'CONFIG',
      means:
        'The check names each job whose key needs records, or needs to change a waiting job (`replace`, `debounce`), on a backend that cannot.',
    },
  },
} satisfies Crossings;
