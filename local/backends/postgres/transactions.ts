/** The queue inside transactions: the application's own, and those that a handler's writes and its ack share. */

import type { OutgoingMessage, QueueBackend } from '../../../core/contract/queue.ts';
import type { PostgresClient } from './client.ts';
import { sinceOf, sorted } from './enqueue.ts';
import { postgresError } from './errors.ts';
import { storedFacts } from './facts.ts';
import { openTransaction } from './job-transaction.ts';
import type { Leases } from './leases.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';
import { createTransactionCheck } from './transaction-check.ts';

type Transactions = Required<Pick<QueueBackend, 'now' | 'enqueueIn' | 'begin'>>;

/**
 * Connections that handlers' transactions leave free: one listens, and one renews leases and serves the handlers' other queries.
 * With all of them taken, every handler that needs another one would wait for the others.
 */
const sparedConnections = 2;

export function createTransactions(state: PostgresState, leases: Leases, maxBodyBytes: number): Transactions {
  const { db, ageingMs, channel } = state;
  const s = db.schema;
  // One parameter of text, so that the transaction may be any driver's, whatever it does to arrays.
  const enqueueing = (name: string, more = '') => `
    SELECT ${s}.${name}(r.at, r.ageing, r.since, '{}', r.ids, r.queues, r.names, r.tenants, r.priorities, r.delays, r.bodies,
      r.keys, r.schedules, r.facts, r.channel, r.notified${more}) AS copies
    FROM json_to_record($1::text::json) AS r (at bigint, ageing bigint, since bigint, ids text[], queues text[], names text[],
      tenants text[], priorities int[], delays bigint[], bodies text[], keys text[], schedules text[], facts text[], channel text,
      notified text[], groups text[], orders text[])`;
  const sql = {
    plain: enqueueing('enqueue'),
    grouped: enqueueing('enqueue_grouped', ', r.groups, r.orders, true'),
  };
  const check = createTransactionCheck(db);
  const slots = createSlots(Math.max(1, db.connections - sparedConnections));

  function requestOf(messages: readonly OutgoingMessage[], queues: readonly string[]): string {
    const facts = messages.map((message) => storedFacts(message.facts));
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
      keys: facts.map(([key]) => key),
      schedules: facts.map(([, schedule]) => schedule),
      facts: facts.map(([, , text]) => text),
      channel,
      notified: channel === null ? [] : queues,
      groups: messages.map(({ group }) => group),
      orders: messages.map(({ order }) => order ?? null),
    });
  }

  /**
   * Lists new queues, outside the caller's transaction: a row that it has not committed would block every other enqueue to that
   * queue, also one of the same handler outside of `ctx.tx`. It is not awaited, because it takes another connection.
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
    async now(tx) {
      const text = `SELECT ${timeOf('$1')}::text AS now`;
      if (tx === undefined) return Number((await db.query('reading the time', text, [state.at()]))[0]![0]);
      try {
        const { rows } = await tx.query(text, [state.at()]);
        return Number((rows[0] as { now: string }).now);
      } catch (cause) {
        throw postgresError('reading the time in your transaction', cause);
      }
    },

    async enqueueIn(tx, messages) {
      const { results, good, indexes } = sorted(messages, maxBodyBytes);
      if (good.length === 0) return results;
      await check(tx);
      try {
        const queues = [...new Set(good.map(({ queue }) => queue))];
        const text = good.some(({ group }) => group !== null) ? sql.grouped : sql.plain;
        const { rows } = await tx.query(text, [requestOf(good, queues)]);
        list(queues);
        const copies = new Set((rows[0] as { copies: number[] | null }).copies);
        for (const [i, { id }] of good.entries())
          results[indexes[i]!] = { ok: true, id, duplicate: copies.has(i + 1) };
      } catch (cause) {
        throw postgresError('enqueueing in your transaction', cause);
      }
      return results;
    },

    async begin() {
      await db.ready();
      await slots.acquire();
      let client: PostgresClient;
      try {
        client = await db.pool.connect();
      } catch (cause) {
        slots.release();
        throw postgresError('beginning a transaction', cause);
      }
      return openTransaction(client, db, leases, slots.release);
    },
  };
}

/** At most `count` at a time, in the order in which they came. */
function createSlots(count: number) {
  const waiting: (() => void)[] = [];
  let free = count;
  return {
    async acquire(): Promise<void> {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => void waiting.push(resolve));
    },
    release(): void {
      const next = waiting.shift();
      if (next) next();
      else free++;
    },
  };
}
