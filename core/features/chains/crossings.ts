import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Chains',
  page: 'chains',
  on: {
    ...asTheJob('promote', "a step of the host's clock", 'a process without the backend', 'another release'),
    cancel:
      'The chain ends with this link. `chains.cancel()` cancels a waiting link and aborts a running one.',
    remove: 'The chain ends with this link and counts as `cancelled`.',
    update: 'The link runs with the new payload, and passes its new result to the next link.',
    clear: 'The chain ends with this link and counts as `cancelled`.',
    purge: 'A link whose record was deleted shows `null`. A chain with no record left is unknown.',
    retention: 'A link whose record was deleted shows `null`. A chain with no record left is unknown.',
    'retry of a dead letter':
      'The chain goes on from this link. Completed jobs of the same link do not run again.',
    'edit of a dead letter': 'The chain goes on from this link, with its result for the new payload.',
    'discard of a dead letter': 'The chain ends there: nothing enqueues its next link.',
    'a store that is away':
      'If the next link cannot be enqueued, the current one is not settled. It runs again, and then the chain goes on.',
    'a sender that is frozen':
      'A chain with an `id` is started once: a later call resolves with `duplicate: true`.',
    'a worker that is killed':
      'The link runs again. If the next link was already enqueued, that one stays, with the first result.',
    'a stale owner': 'The stale worker starts nothing: the owner of the lease enqueues the next link.',
    'a second delivery':
      'The id of the next link is derived from the chain. Where a queue runs both copies, that id is also their idempotency key.',
    move: 'The message carries the rest of the chain, so the chain goes on at the target. The target does not know the links that have ended.',
    'a late relay of an outbox': 'A link in the outbox counts as on its way: the chain is `running`.',
    failover: 'A chain goes to the second backend as a whole, and stays there until it ends.',
    'a transaction':
      'With `tx` the first link is enqueued in your transaction. On Postgres each next link commits together with the ack of the link before it.',
    'an isolated handler': 'An isolated handler may start a chain, and may be a link in one.',
    'another tenant over HTTP':
      'A credential sees and cancels a chain only if it may see all its jobs. If not, the answer is 404.',
    testApp: '`drain()` runs all links.',
    check:
      'Chains need nothing from a backend. Parallel links need a store with batches and steps; without one `chain()` throws.',
  },
} satisfies Crossings;
