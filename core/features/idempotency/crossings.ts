import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Idempotency keys',
  page: 'lifecycle',
  on: {
    ...asTheJob(
      'promote',
      'discard of a dead letter',
      'a sender that is frozen',
      "a step of the host's clock",
      'a late relay of an outbox',
      'a process without the backend',
      'another release',
      'an isolated handler',
    ),
    cancel: 'The next job can take the key, unless the key was already completed.',
    remove: 'The next job can take the key, unless the key was already completed.',
    update: 'A key that the job derives from the payload is derived again. A key given by the caller stays.',
    clear: 'The keys of the jobs are free, except keys that were already completed.',
    purge: 'A completed key is remembered for `idempotencyKeepMs`, with or without the record.',
    retention: 'A completed key is remembered for `idempotencyKeepMs`, with or without the record.',
    'retry of a dead letter':
      'The job claims its key again. If another job has completed the key meanwhile, the job is skipped with the output of that job.',
    'edit of a dead letter':
      'A key that the job derives from the payload is derived again. A key given by the caller stays.',
    'a store that is away': 'The job is released and tries again later: it never runs without its key.',
    'a worker that is killed':
      'Other jobs with the key wait until the hold ends, which lasts as long as the lease. If the key was completed before the ack, the next attempt is skipped.',
    'a stale owner': 'The stale worker cannot complete the key. Only the attempt that holds the key can.',
    'a second delivery': 'The second copy is skipped, with the output of the first.',
    move: 'If the key of a moving job is completed, it is marked at the target for a day. Other keys stay at the source.',
    failover: 'If a job is on both backends, its key protects it only where both share their keys.',
    'a transaction': 'The same commit completes the key. A key in another store is completed just after it.',
    'another tenant over HTTP': 'Each tenant has its own keys.',
    testApp: 'Keys work as in production, by the clock of the test.',
    check: 'Keys need nothing special: every backend has them.',
  },
} satisfies Crossings;
