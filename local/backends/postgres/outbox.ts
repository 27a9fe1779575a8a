/** The rows of the outbox in Postgres. */

import { messageOf } from '../../outbox/send.ts';
import type { Fate, OutboxTable, RefusedRow } from '../../outbox/table.ts';
import { createWaiters } from '../shared/waiters.ts';
import { bigintArray, storable, textArray } from './arrays.ts';
import { onClient, type PostgresClient } from './client.ts';
import { postgresError } from './errors.ts';
import { createListener, idlePollMs } from './listen.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';
import { createTransactionCheck } from './transactions.ts';

/**
 * The outbox of a backend. It is closed with the backend.
 *
 * @param schema name of the schema, as the user wrote it
 * @param listens whether a relay may keep a connection for LISTEN
 * @param pollMs how often a relay looks for rows while it cannot listen
 */
export function createOutbox(state: PostgresState, schema: string, listens: boolean, pollMs: number) {
  const { db, clock } = state;
  const s = db.schema;
  const now = timeOf('$1');
  // Not the channel of the jobs: workers need no notices of new rows in the outbox, nor relays of new jobs.
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
        if (open && waiters.wakes() === wakes) await waiters.wait(idlePollMs(listener, pollMs), signal);
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
      waiters.wake(); // a relay in another process polls
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

/** The most bytes of a batch, so that large bodies do not fill the memory. */
const batchBytes = 8 * 1024 * 1024;
/** If the host of a relay has vanished, the server ends its transaction this long after `withinMs`. */
const graceMs = 45_000;

/** A condition on the rows. */
interface Which {
  readonly sql: string;
  readonly values: readonly unknown[];
}

type Send = Parameters<OutboxTable['move']>[3];

/** @param lockName name of the advisory lock; the name of the target is added to it */
function createMove(state: PostgresState, lockName: string) {
  const { db } = state;
  const s = db.schema;

  const move: OutboxTable['move'] = async (target, most, withinMs, send, ids) => {
    const sql = `SELECT EXISTS (SELECT FROM ${s}.outbox WHERE target = $1${ids ? ' AND id = ANY ($2)' : ''})`;
    const [row] = await db.query('looking into the outbox', sql, ids ? [target, ids] : [target]);
    if (!row![0]) return 'empty';
    return onClient(db.pool, async (client) => {
      // The level is named, because with a stricter default of the database the snapshot would be older than the lock.
      await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
      await client.query(`SET LOCAL idle_in_transaction_session_timeout = ${withinMs + graceMs}`);
      const result = await moveIn(client, target, most, send, ids);
      await client.query('COMMIT');
      return result;
    }).catch((cause) => {
      throw postgresError('relaying', cause);
    });
  };

  /** Inside a transaction. */
  async function moveIn(
    client: PostgresClient,
    target: string,
    most: number,
    send: Send,
    ids: readonly string[] | undefined,
  ): Promise<'moved' | 'empty' | 'busy'> {
    // An advisory lock ends with the transaction, so it works through a pooler. Unlike locked rows it does not hold up vacuum.
    const lock = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked';
    const { rows: answer } = await client.query(lock, [`${lockName} ${target}`]);
    if (!answer[0]!.locked) return 'busy';
    const which = ids ? await rowsOf(client, target, ids) : { sql: '', values: [] };
    // Another statement than the lock: one statement for both would still see rows that the last relay has moved.
    const text = `
      SELECT seq, message FROM (
        SELECT seq, message, sum(octet_length(message)) OVER (ORDER BY seq) - octet_length(message) AS bytes_before
        FROM (SELECT seq, message FROM ${s}.outbox WHERE target = $1${which.sql} ORDER BY target, seq LIMIT $2) next) measured
      WHERE bytes_before < $3 ORDER BY seq`;
    const values = [target, most, batchBytes, ...which.values];
    const { rows } = await client.query({ text, values, rowMode: 'array' });
    if (rows.length === 0) return 'empty';
    const fates = await send(rows.map(([, message]) => message as string));
    const seqs = rows.map(([seq]) => Number(seq));
    await settle(client, target, seqs, fates);
    return 'moved';
  }

  /** Selects these messages, and earlier messages of their groups. */
  async function rowsOf(client: PostgresClient, target: string, ids: readonly string[]): Promise<Which> {
    const text = `SELECT seq, message FROM ${s}.outbox WHERE target = $1 AND id = ANY ($2)`;
    const { rows } = await client.query({ text, values: [target, textArray(ids)], rowMode: 'array' });
    const groups = rows.flatMap(([, message]) => messageOf(message as string)?.group ?? []);
    if (groups.length === 0) return { sql: ' AND id = ANY ($4)', values: [textArray(ids)] };
    const last = Math.max(...rows.map(([seq]) => Number(seq)));
    // Compared as text, because Postgres refuses JSON with some characters that a message may have. Quotes in the body are escaped.
    const marks = groups.map((group) => `"group":${JSON.stringify(group)}`);
    return {
      sql: ` AND (id = ANY ($4)
        OR seq < $5 AND EXISTS (SELECT FROM unnest($6::text[]) mark WHERE strpos(message, mark) > 0))`,
      values: [textArray(ids), last, textArray(marks)],
    };
  }

  async function settle(
    client: PostgresClient,
    target: string,
    seqs: readonly number[],
    fates: readonly Fate[],
  ): Promise<void> {
    const sent = seqs.filter((_, i) => fates[i]!.state === 'sent');
    if (sent.length > 0) {
      const sql = `DELETE FROM ${s}.outbox WHERE target = $1 AND seq = ANY ($2)`;
      await client.query(sql, [target, bigintArray(sent)]);
    }
    const refused = fates.flatMap((fate, i) =>
      fate.state === 'refused' ? [{ ...fate, seq: seqs[i]! }] : [],
    );
    if (refused.length === 0) return;
    const sql = `
      WITH taken AS (DELETE FROM ${s}.outbox WHERE target = $2 AND seq = ANY ($3) RETURNING seq, written_at, message)
      INSERT INTO ${s}.outbox_refused (target, id, seq, queue, written_at, refused_at, error, message)
      SELECT $2, g.id, t.seq, g.queue, t.written_at, ${timeOf('$1')}, g.error, t.message
      FROM taken t JOIN unnest($3::bigint[], $4::text[], $5::text[], $6::text[]) g (seq, id, queue, error) USING (seq)`;
    await client.query(sql, [
      state.at(),
      target,
      bigintArray(refused.map(({ seq }) => seq)),
      textArray(refused.map(({ id }) => storable(id))),
      textArray(refused.map(({ queue }) => storable(queue))),
      textArray(refused.map(({ error }) => storable(`${error.code}: ${error.message}`))),
    ]);
  }

  return move;
}
