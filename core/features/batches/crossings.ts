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
    cancel: 'The child counts as failed. If it was the last one, the batch enqueues its callbacks.',
    remove: 'The child counts as failed. If it was the last one, the batch enqueues its callbacks.',
    clear:
      'The children count as failed at once. If they were the last ones, the batch enqueues its callbacks.',
    purge: 'A batch keeps its own counts, so its numbers stay when the records of its children are deleted.',
    retention:
      'A batch counts each child before it is settled, so it needs no record of it. A batch is kept for 7 days after its callbacks.',
    'retry of a dead letter':
      'The batch goes on. When all children have ended again, another round of callbacks follows.',
    'edit of a dead letter':
      'The batch goes on. When all children have ended again, another round of callbacks follows.',
    'discard of a dead letter': 'The child stays failed.',
    'a store that is away':
      'A child that cannot be counted is settled if its record says how it ended. If not, it runs again when its lease ends.',
    'a sender that is frozen':
      'A later call with the same id takes over and continues. The earlier call ends with `BATCH`.',
    'a worker that is killed':
      'A child is counted once, however often it runs. A job that sends the batch continues with it in its next attempt.',
    'a stale owner':
      'A child is counted once. A success can replace a failure, but a failure never replaces a success.',
    'a second delivery': 'A child that runs twice is counted once.',
    move: {
      refuses: 'CONFLICT',
      means: 'Nothing moves while children of an open batch wait in the queues to be moved.',
    },
    'a late relay of an outbox': 'Children in the outbox count as on their way, not as failed.',
    failover:
      'A batch goes to the second backend as a whole. A batch with your own `id` does not: the call throws `BACKEND`.',
    'a transaction':
      'A child is counted after its commit. A batch cannot be sent in a transaction: children take no `tx`.',
    'an isolated handler': 'The isolate reads the items and runs `map`. The worker sends the children.',
    'another tenant over HTTP': 'The routes of the batch answer 404, as for a batch that does not exist.',
    testApp: '`drain()` runs children and callbacks, and `tick()` checks batches that are stuck.',
    check: 'Batches need nothing from the queue. Without a store for batches, `batch()` throws `CONFIG`.',
  },
} satisfies Crossings;
