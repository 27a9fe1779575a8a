/** The outbox's rows in Postgres. */

import type { OutboxTable, RefusedRow } from '../../outbox/table.ts';
import { createWaiters } from '../shared/waiters.ts';
import { postgresError } from './errors.ts';
import { createListener, safetyPollMs } from './listen.ts';
import { createMove } from './outbox-move.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';
import { createTransactionCheck } from './transaction-check.ts';

/**
 * The backend's outbox; closed with the backend.
 *
 * @param schema its name, as the user wrote it
 * @param listens whether a relay may keep a connection for LISTEN
 * @param pollMs how often a relay looks for rows while it cannot listen
 */
export function createOutbox(state: PostgresState, schema: string, listens: boolean, pollMs: number) {
  const { db, clock } = state;
  const s = db.schema;
  const now = timeOf('$1');
  // Apart from the jobs' channel: new rows in the outbox do not concern workers, nor new jobs a relay.
  const channel = `longshore outbox ${schema}`;
  const waiters = createWaiters(clock);
  const listener = createListener(db, channel, waiters);
  const check = createTransactionCheck(db);
  const move = createMove(state, channel);
  let open = true;

  const table: OutboxTable = {
    async write(target, messages, tx) {
      const request = {
        at: state.at(),
        target,
        channel: state.channel === null ? null : channel,
        messages: messages.map(({ text }) => text),
        ids: messages.map(({ id }) => id),
      };
      const sql = `SELECT ${s}.write_outbox($1) AS written`;
      if (tx === null) {
        await db.query('enqueueing', sql, [JSON.stringify(request)]);
        waiters.wake();
        return;
      }
      await check(tx);
      try {
        await tx.query(sql, [JSON.stringify(request)]);
      } catch (cause) {
        throw postgresError('enqueueing in your transaction', cause);
      }
    },

    async move(target, most, withinMs, send, ids) {
      try {
        return open ? await move(target, most, withinMs, send, ids) : 'closed';
      } catch (error) {
        if (open) throw error;
        return 'closed';
      }
    },

    watch() {
      if (listens) listener.start();
      const wakes = waiters.wakes();
      return async (signal) => {
        if (open && waiters.wakes() === wakes)
          await waiters.wait(listener.hears ? safetyPollMs : pollMs, signal);
      };
    },

    async find(target, id) {
      const sql = `SELECT message, written_at, NULL, NULL FROM ${s}.outbox WHERE target = $1 AND id = $2
        UNION ALL SELECT message, written_at, refused_at, error FROM ${s}.outbox_refused WHERE target = $1 AND id = $2 LIMIT 1`;
      const [row] = await db.query('looking into the outbox', sql, [target, id]);
      if (!row) return null;
      const [text, writtenAt, refusedAt, error] = row as (string | null)[];
      const refused = error == null ? null : { at: Number(refusedAt), error };
      return { text: text!, writtenAt: Number(writtenAt), refused };
    },

    async backlog(target) {
      const sql = `SELECT (SELECT count(*) FROM ${s}.outbox WHERE target = $2),
        (SELECT ${now} - written_at FROM ${s}.outbox WHERE target = $2 ORDER BY target, seq LIMIT 1),
        (SELECT count(*) FROM ${s}.outbox_refused WHERE target = $2)`;
      const [row] = await db.query('counting', sql, [state.at(), target]);
      const [waiting, oldestMs, refused] = row!;
      return {
        waiting: Number(waiting),
        oldestMs: oldestMs === null ? null : Math.max(0, Number(oldestMs)),
        refused: Number(refused),
      };
    },

    async refused(target, queue, most) {
      const sql = `SELECT id, queue, error, refused_at, message FROM ${s}.outbox_refused
        WHERE target = $1 AND ($2::text IS NULL OR queue = $2) ORDER BY refused_at DESC, seq DESC LIMIT $3`;
      return (await db.query('listing', sql, [target, queue, most])).map((row): RefusedRow => {
        const [id, queue, error, refusedAt, text] = row as string[];
        return { id: id!, queue: queue!, error: error!, refusedAt: Number(refusedAt), text: text! };
      });
    },

    async retry(target, ids) {
      const sql = `
        WITH back AS (DELETE FROM ${s}.outbox_refused WHERE target = $2 AND id = ANY ($3) RETURNING seq, id, message),
        again AS (INSERT INTO ${s}.outbox (target, id, written_at, message)
          SELECT $2, id, ${now}, message FROM back ORDER BY seq RETURNING 1)
        SELECT count(*) FROM again`;
      const [row] = await db.query('retrying', sql, [state.at(), target, ids]);
      waiters.wake(); // a relay in another process looks by itself, too
      return Number(row![0]);
    },

    async discard(target, ids) {
      const sql = `DELETE FROM ${s}.outbox_refused WHERE target = $1 AND id = ANY ($2) RETURNING 1`;
      return (await db.query('discarding', sql, [target, ids])).length;
    },
  };

  return {
    table,
    async close(): Promise<void> {
      open = false;
      waiters.wake();
      await listener.close();
    },
  };
}
