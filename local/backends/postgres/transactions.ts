/** The queue inside transactions: the application's own, and those that a handler's writes and its ack share. */

import type { JobTransaction, QueueBackend } from '../../../core/contract.ts';
import { LongshoreError } from '../../../core/errors.ts';
import type { PostgresClient } from './database.ts';
import { refusal, sinceOf } from './enqueue.ts';
import { postgresError } from './errors.ts';
import type { PostgresState } from './index.ts';
import type { Worker } from './work.ts';

type Transactions = Required<Pick<QueueBackend, 'enqueueIn' | 'begin'>>;

export function createTransactions(state: PostgresState, worker: Worker, maxBodyBytes: number): Transactions {
  const { db, ageingMs, channel } = state;
  const s = db.schema;

  return {
    async enqueueIn(tx, messages) {
      await db.ready();
      const refusals = messages.map((message) => refusal(message, maxBodyBytes));
      const good = messages.filter((_, i) => refusals[i] === null);
      const copies = new Set<string>();
      if (good.length > 0) {
        const request = {
          at: state.at(),
          ageing: ageingMs,
          since: sinceOf(good),
          channel,
          messages: good.map((message) => ({
            id: message.id,
            queue: message.queue,
            job: message.job,
            tenant: message.tenantId,
            priority: message.priority,
            delay: state.delayOf(message),
            body: message.body,
          })),
        };
        const sql = `SELECT ${s}.enqueue_in($1) AS copies`;
        try {
          // A string, so that the transaction may be any driver's, whatever it does to arrays.
          const { rows } = await tx.query(sql, [JSON.stringify(request)]);
          const [row] = rows as { copies: number[] | null }[];
          for (const place of row?.copies ?? []) copies.add(good[place - 1]!.id);
        } catch (cause) {
          throw postgresError('enqueueing in your transaction', cause);
        }
      }
      return messages.map(({ id }, i) => {
        const error = refusals[i];
        return error ? { ok: false, id, error } : { ok: true, id, duplicate: copies.has(id) };
      });
    },

    async begin() {
      await db.ready();
      let client: PostgresClient;
      try {
        client = await db.pool.connect();
      } catch (cause) {
        throw postgresError('beginning a transaction', cause);
      }
      return openTransaction(client, worker);
    },
  };
}

/** Keeps hold of the client: a handler that goes on after its attempt has ended must not write in somebody else's transaction. */
async function openTransaction(client: PostgresClient, worker: Worker): Promise<JobTransaction> {
  let over = false;
  /** Statements of the handler that have not been answered. */
  let open = 0;

  const broken = () => {}; // the statement at hand, or the next one, reports it

  function end(destroy: boolean): void {
    over = true;
    client.release(destroy);
    if (!destroy) client.removeListener('error', broken);
  }

  async function run<T>(during: string, statement: () => Promise<T>): Promise<T> {
    try {
      return await statement();
    } catch (cause) {
      end(true); // which also ends the transaction
      throw postgresError(during, cause);
    }
  }

  client.on('error', broken);
  await run('beginning a transaction', () => client.query('BEGIN'));

  return {
    sql: {
      async query(text, values) {
        if (over) throw new LongshoreError('LEASE_LOST', 'The attempt and its transaction are over.');
        open++;
        try {
          return await client.query(text, values);
        } finally {
          open--;
        }
      },
    },
    async ack(ack) {
      const { settled, committed } = await run('settling', () => worker.ackIn(client, ack));
      over = true;
      await run('committing', () => client.query(settled ? 'COMMIT' : 'ROLLBACK'));
      end(false);
      if (settled) committed();
      return settled;
    },
    async rollback() {
      if (over) return;
      over = true;
      // A statement under way may hold the connection for long, and the handler may send more: the connection goes with it.
      if (open > 0) return end(true);
      try {
        await client.query('ROLLBACK');
        end(false);
      } catch {
        end(true);
      }
    },
  };
}
