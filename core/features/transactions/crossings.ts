import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Transactions',
  page: 'transactions',
  on: {
    ...asTheJob(
      'remove',
      'update',
      'promote',
      'clear',
      'purge',
      'retention',
      'retry of a dead letter',
      'edit of a dead letter',
      'discard of a dead letter',
      'a sender that is frozen',
      'a second delivery',
      "a step of the host's clock",
      'a process without the backend',
      'another release',
      'another tenant over HTTP',
    ),
    cancel: 'The transaction is rolled back at once, and the running statement is cancelled.',
    'a store that is away':
      'A transaction that cannot begin or commit leaves nothing behind: the job comes back when its lease ends.',
    'a worker that is killed': 'The transaction is rolled back: nothing is half written.',
    'a stale owner': 'The transaction is rolled back: only the owner of the lease can commit.',
    move: 'The jobs arrive, but on a target without transactions no worker of this app starts (`CONFIG`).',
    'a late relay of an outbox':
      'The outbox row is part of your transaction. A handler with a transaction needs a target that has transactions.',
    failover: 'A call with `tx` does not go to the second backend: it throws `BACKEND`.',
    'a transaction':
      'The writes through `ctx.tx`, jobs enqueued with `{ tx: ctx.tx }`, the idempotency key and the ack commit together.',
    'an isolated handler': {
      refuses: 'CONFIG',
      means: '`transaction` and `isolate` are refused together: a transaction cannot leave its process.',
    },
    testApp: 'The handler runs. Its calls on `ctx.tx` fail unless the test gives `testApp` a `transaction`.',
    check: {
      refuses: 'CONFIG',
      means: 'The check names each job with `transaction: true`, on every backend except Postgres.',
    },
  },
} satisfies Crossings;
