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
    cancel: 'The key is free for the next job, unless its effect was done.',
    remove: 'The key is free for the next job, unless its effect was done.',
    update: 'A key that the job made of the old payload is made of the new one. A key that was given stays.',
    clear: 'The keys of the jobs are free, unless their effect was done.',
    purge: 'A key that is done is remembered for `idempotencyKeepMs`, whatever becomes of the record.',
    retention: 'A key that is done is remembered for `idempotencyKeepMs`, whatever becomes of the record.',
    'retry of a dead letter':
      'It claims its key again. If another job has completed it meanwhile, it is skipped with that output.',
    'edit of a dead letter':
      'A key that the job made of the old payload is made of the new one. A key that was given stays.',
    'a store that is away': 'The job is released and asks again: it never runs unguarded.',
    'a worker that is killed':
      'Others wait until the hold is over, as long as the lease. If the key was completed before the ack, the next attempt is skipped.',
    'a stale owner': 'It cannot complete the key: the attempt that holds it does.',
    'a second delivery': 'The second copy is skipped, with the output of the first.',
    move: 'The key of a moving job is marked at the target, for a day, if its effect is done. Other keys stay.',
    failover: 'It guards a job that is on both backends only where both share their keys.',
    'a transaction':
      'The key is completed by the same commit. Keys in another store are completed just after it.',
    'another tenant over HTTP': 'Each tenant has its own keys.',
    testApp: 'It holds as elsewhere, by the clock of the test.',
    check: 'It asks nothing of a backend: each has keys.',
  },
} satisfies Crossings;
