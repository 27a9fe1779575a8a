import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Batches',
  page: 'batches',
  on: {
    ...asTheJob(
      'update',
      'promote',
      "a step of the host's clock",
      'a process without the backend',
      'another release',
    ),
    cancel: 'The child counts as failed. If it was the last one, the batch makes its calls.',
    remove: 'The child counts as failed. If it was the last one, the batch makes its calls.',
    clear: 'The children count as failed at once. If they were the last ones, the batch makes its calls.',
    purge: 'A batch counts in a store of its own, so its numbers stay when records of its children go.',
    retention:
      'A batch counts before its children are settled, so it needs no record of them. It is kept for 7 days after its calls.',
    'retry of a dead letter':
      'The batch goes on, and a new round of calls follows when all have ended again.',
    'edit of a dead letter': 'The batch goes on, and a new round of calls follows when all have ended again.',
    'discard of a dead letter': 'The child stays failed.',
    'a store that is away':
      'A child that cannot be counted is settled if its record says how it ended. Else it runs again when its lease is over.',
    'a sender that is frozen':
      'A later call with the same id takes over and goes on. The earlier one ends with `BATCH`.',
    'a worker that is killed':
      'A child is counted once, however often it runs. A job that sends the batch goes on with it in its next attempt.',
    'a stale owner': 'A child is counted once. A success corrects a failure, and never the other way round.',
    'a second delivery': 'A child that runs twice is counted once.',
    move: {
      refuses: 'CONFLICT',
      means: 'Nothing moves while children of an open batch wait in the queues that move.',
    },
    'a late relay of an outbox': 'Children in the outbox are on their way: none counts as failed.',
    failover:
      'A batch goes to the second backend as a whole. One with an `id` of yours does not: the call throws `BACKEND`.',
    'a transaction':
      'A child is counted after its commit. A batch cannot be sent in a transaction: children take no `tx`.',
    'an isolated handler': 'Items are read and `map` runs in the isolate, and its worker sends them.',
    'another tenant over HTTP': 'Its routes answer 404, as for a batch that does not exist.',
    testApp: '`drain()` runs children and calls, and `tick()` looks at batches that stand still.',
    check: 'It asks nothing of a backend. Without a store of batches `batch()` throws `CONFIG`.',
  },
} satisfies Crossings;
