import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Chains',
  page: 'chains',
  on: {
    ...asTheJob('promote', "a step of the host's clock", 'a process without the backend', 'another release'),
    cancel:
      'The chain ends with the link. `chains.cancel()` takes the link that waits, and aborts the one that runs.',
    remove: 'The chain ends with the link, and counts as `cancelled`.',
    update: 'The link runs with the new payload, and hands on what it returns then.',
    clear: 'The chain ends with the link, and counts as `cancelled`.',
    purge: 'A link whose record is gone has `null`. A chain of which no record is left is not known.',
    retention: 'A link whose record is gone has `null`. A chain of which no record is left is not known.',
    'retry of a dead letter':
      'The chain goes on from this link. Jobs of the same link that have completed do not run again.',
    'edit of a dead letter': 'The chain goes on from this link, with what it returns for the new payload.',
    'discard of a dead letter': 'The chain ends there: nothing enqueues its next link.',
    'a store that is away':
      'A link whose next one cannot be enqueued is not settled: it runs again, and the chain goes on then.',
    'a sender that is frozen':
      'A chain with an `id` is started once: a later call resolves with `duplicate: true`.',
    'a worker that is killed':
      'The link runs again. If the next one was enqueued before, it finds it there, and that keeps what came first.',
    'a stale owner': 'It starts nothing: the owner of the lease enqueues the next link.',
    'a second delivery':
      'The next link has an id made of the chain, which is an idempotency key where a queue runs both copies.',
    move: 'The rest of the chain travels in the message, so it goes on at the target. Links that have ended are not known there.',
    'a late relay of an outbox': 'A link in the outbox is on its way: the chain is `running`.',
    failover: 'A chain goes to the second backend as a whole, and stays there to its end.',
    'a transaction':
      'With `tx` the first link is enqueued in your transaction. On Postgres each next link and the ack before it commit together.',
    'an isolated handler': 'It may start a chain, and be a link of one.',
    'another tenant over HTTP':
      'A credential sees and cancels a chain only when it may see all of its jobs. Else 404.',
    testApp: '`drain()` runs all links.',
    check:
      'It asks nothing of a backend. Links at the same time need a store with batches and steps, which `chain()` says.',
  },
} satisfies Crossings;
