/** The queue inside transactions: the application's own, and those that a handler's writes and its ack share. */

import type { OutgoingMessage, QueueBackend, SendResult } from '../../../core/contract/queue.ts';
import type { PostgresClient } from './database.ts';
import { refusal, sinceOf } from './enqueue.ts';
import { postgresError } from './errors.ts';
import type { PostgresState } from './index.ts';
import { openTransaction } from './job-transaction.ts';
import { createJoin } from './joining.ts';
import type { Worker } from './work.ts';

type Transactions = Required<Pick<QueueBackend, 'enqueueIn' | 'begin'>>;

/**
 * Connections that handlers' transactions leave to the rest: one hears of new jobs, and on one leases are renewed and the
 * handlers enqueue. With all of them taken, every handler that needs one more would wait for the others.
 */
const sparedConnections = 2;

export function createTransactions(state: PostgresState, worker: Worker, maxBodyBytes: number): Transactions {
  const { db, ageingMs, channel } = state;
  const s = db.schema;
  // One parameter of text, so that the transaction may be any driver's, whatever it does to arrays.
  const sql = `
    SELECT ${s}.enqueue(r.at, r.ageing, r.since, '{}', r.ids, r.queues, r.names, r.tenants, r.priorities, r.delays, r.bodies,
      r.channel, r.bells) AS copies
    FROM json_to_record($1::text::json) AS r (at bigint, ageing bigint, since bigint, ids text[], queues text[], names text[],
      tenants text[], priorities int[], delays bigint[], bodies text[], channel text, bells text[])`;
  const join = createJoin(db);
  const slots = createSlots(Math.max(1, db.connections - sparedConnections));

  function requestOf(messages: readonly OutgoingMessage[], queues: readonly string[]): string {
    return JSON.stringify({
      at: state.at(),
      ageing: ageingMs,
      since: sinceOf(messages),
      ids: messages.map(({ id }) => id),
      queues: messages.map(({ queue }) => queue),
      names: messages.map(({ job }) => job),
      tenants: messages.map(({ tenantId }) => tenantId),
      priorities: messages.map(({ priority }) => priority),
      delays: messages.map((message) => state.delayOf(message)),
      bodies: messages.map(({ body }) => body),
      channel,
      bells: channel === null ? [] : queues,
    });
  }

  /**
   * Lists queues that are new. Not in the caller's transaction: until it ended, everybody else who enqueues there would wait,
   * a handler that does so outside of `ctx.tx` even for itself. Nor is it waited for, because it takes another connection.
   */
  function list(queues: readonly string[]): void {
    const fresh = queues.filter((queue) => !state.knownQueues.has(queue));
    if (fresh.length === 0) return;
    const insert = `INSERT INTO ${s}.queues (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING`;
    db.query('listing queues', insert, [fresh]).then(
      () => fresh.forEach((queue) => void state.knownQueues.add(queue)),
      () => {}, // the next one lists it
    );
  }

  return {
    async enqueueIn(tx, messages) {
      const results: SendResult[] = new Array(messages.length);
      const good: OutgoingMessage[] = [];
      const places: number[] = [];
      for (const [i, message] of messages.entries()) {
        const error = refusal(message, maxBodyBytes);
        if (error) results[i] = { ok: false, id: message.id, error };
        else places[good.push(message) - 1] = i;
      }
      if (good.length === 0) return results;
      await join(tx);
      try {
        const queues = [...new Set(good.map(({ queue }) => queue))];
        const { rows } = await tx.query(sql, [requestOf(good, queues)]);
        list(queues);
        const copies = new Set((rows[0] as { copies: number[] | null }).copies);
        for (const [i, { id }] of good.entries())
          results[places[i]!] = { ok: true, id, duplicate: copies.has(i + 1) };
      } catch (cause) {
        throw postgresError('enqueueing in your transaction', cause);
      }
      return results;
    },

    async begin() {
      await db.ready();
      await slots.take();
      let client: PostgresClient;
      try {
        client = await db.pool.connect();
      } catch (cause) {
        slots.give();
        throw postgresError('beginning a transaction', cause);
      }
      return openTransaction(client, {
        worker,
        released: slots.give,
        cancel: (pid) => void db.query('cancelling', 'SELECT pg_cancel_backend($1)', [pid]).catch(() => {}),
      });
    },
  };
}

/** Lets so many pass at a time, in the order in which they came. */
function createSlots(count: number) {
  const waiting: (() => void)[] = [];
  let free = count;
  return {
    async take(): Promise<void> {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => void waiting.push(resolve));
    },
    give(): void {
      const next = waiting.shift();
      if (next) next();
      else free++;
    },
  };
}
