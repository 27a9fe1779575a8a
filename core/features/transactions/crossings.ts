import { asTheJob, type Crossings } from '../crossings.ts';

export const crossings = {
  title: 'Transactions of handlers',
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
    cancel: 'It is rolled back at once, and the statement under way is cancelled.',
    'a store that is away':
      'A transaction that cannot begin or commit leaves nothing behind: the job comes back when its lease is over.',
    'a worker that is killed': 'It is rolled back: nothing is half written.',
    'a stale owner': 'It is rolled back: only the owner of the lease can commit.',
    move: 'The jobs arrive, but a target without transactions gets no worker of this app (`CONFIG`).',
    'a late relay of an outbox':
      'The row of the outbox is part of your transaction. A handler with a transaction runs as the target allows.',
    failover: 'A call with `tx` does not go to the second backend: it throws `BACKEND`.',
    'a transaction':
      'What the handler writes through `ctx.tx`, its jobs with `{ tx: ctx.tx }`, its key and its ack commit together.',
    'an isolated handler': {
      refuses: 'CONFIG',
      means: '`transaction` and `isolate` are refused together: a transaction cannot leave its process.',
    },
    testApp:
      'The handler runs. What it asks of `ctx.tx` fails unless the test gives `testApp` a `transaction`.',
    check: {
      refuses: 'CONFIG',
      means: 'Named is each job with `transaction: true`, on every backend but Postgres.',
    },
  },
} satisfies Crossings;
