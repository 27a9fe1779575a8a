/** Transactions of handlers in tests: opened by the test, together with the jobs that are enqueued in them. */

import { config, LongshoreError } from '../../core/base/errors.ts';
import { toError } from '../../core/base/failure.ts';
import type {
  JobTransaction,
  OutgoingMessage,
  QueueBackend,
  SendResult,
  SqlTransaction,
} from '../../core/contract/queue.ts';

/** The `ctx.tx` of handlers. `commit` or `rollback` is called at its end. */
export interface TestTransaction extends SqlTransaction {
  commit?(): unknown;
  rollback?(): unknown;
}

export type BeginTransaction = () => TestTransaction | Promise<TestTransaction>;

const missing = config(
  'This test has no transactions, so ctx.tx cannot query. Pass one as testApp(app, { transaction }): a transaction of a test database, or { query: async (text, values) => ({ rows: [] }) }.',
);

/** @param open if absent, handlers run, but queries on `ctx.tx` fail */
export function withTransactions(backend: QueueBackend, open: BeginTransaction | undefined): QueueBackend {
  const stores = backend.stores!;
  const steps = stores.steps!;
  /** Messages to enqueue on commit, by transaction. */
  const pending = new WeakMap<SqlTransaction, OutgoingMessage[]>();

  async function begin(): Promise<JobTransaction> {
    const given = await opened(open);
    let isOver = false;
    const sql: SqlTransaction = {
      async query(text, values) {
        if (isOver) throw new LongshoreError('LEASE_LOST', 'The transaction of this attempt is over.');
        return given.query(text, values);
      },
    };
    pending.set(sql, []);
    const end = async (how: 'commit' | 'rollback') => {
      isOver = true;
      await given[how]?.();
    };
    const rollback = async () => {
      if (!isOver) await end('rollback').catch(() => {});
    };
    const commit = async () => {
      try {
        await end('commit');
      } catch (cause) {
        const message = `The transaction cannot be committed: ${toError(cause).message}`;
        throw new LongshoreError('HANDLER', message, { cause });
      }
      await backend.enqueue(pending.get(sql)!);
    };
    return {
      sql,
      rollback,
      async ack(ack) {
        await commit();
        return (await backend.ack([ack]))[0] === true;
      },
      async commit(_, last) {
        if (!(await last(sql))) {
          await rollback();
          return false;
        }
        await commit();
        return true;
      },
    };
  }

  return {
    ...backend,
    stores: { ...stores, steps: { ...steps, within: () => steps } },
    begin,
    ...(open && {
      async enqueueIn(tx: SqlTransaction, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
        const own = pending.get(tx);
        if (!own) return backend.enqueue(messages); // of the test itself
        own.push(...messages);
        return messages.map(({ id }) => ({ ok: true, id, duplicate: false }));
      },
    }),
  };
}

/** If a transaction cannot be opened, its queries fail in the handler, not in the test. */
async function opened(open: BeginTransaction | undefined): Promise<TestTransaction> {
  try {
    if (open) return await open();
  } catch (error) {
    return { query: () => Promise.reject(error) };
  }
  return { query: () => Promise.reject(missing) };
}
