import { slices } from '../../../core/base/slices.ts';
import type { DeadLetter, DeadLetters, QueueAdmin, QueueStats } from '../../../core/contract/admin.ts';
import { pageOf, positionIn } from '../../../core/kit/records/filter.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { GroupState } from '../shared/groups.ts';
import { storable, textArray } from './arrays.ts';
import type { Row } from './client.ts';
import { factArrays, refusal } from './enqueue.ts';
import { deadColumns, deadOf, peekedOf } from './rows.ts';
import { recordNames, timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';
import { postgresTransfer } from './transfer.ts';

/** The order of a list. Jobs in line come group by group. */
const part = { ready: 0, inLine: 1, delayed: 2 };

const idsAtOnce = 1_000;

export function postgresAdmin(state: PostgresState, maxBodyBytes: number): QueueAdmin & MovableAdmin {
  const { db } = state;
  const s = db.schema;
  const now = timeOf('$1');

  async function setPaused(queue: string, paused: boolean): Promise<void> {
    const sql = `
      WITH notified AS (SELECT pg_notify($3, $1) WHERE $3::text IS NOT NULL AND NOT $2)
      INSERT INTO ${s}.queues (name, paused) SELECT $1, $2 FROM (SELECT count(*) FROM notified) t
      ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`;
    await db.query(paused ? 'pausing' : 'resuming', sql, [queue, paused, state.channel]);
  }

  return {
    transfer: postgresTransfer(state, maxBodyBytes),
    async stats(only) {
      const sql = `SELECT * FROM ${s}.stats($1, $2)`;
      const rows = await db.query('counting', sql, [state.at(), only ?? null]);
      return rows.map(
        ([queue, ready, delayed, leased, dead, paused, oldest]): QueueStats => ({
          queue: queue as string,
          ready: Number(ready),
          delayed: Number(delayed),
          leased: Number(leased),
          dead: Number(dead),
          paused: paused as boolean,
          oldestReadyMs: oldest === null ? null : Number(oldest),
        }),
      );
    },
    async peek(queue, max) {
      // The time is a subquery, because no index is used for a comparison with a running clock. OFFSET 0 keeps the planner from
      // reading all jobs to join them with a few. A fetch makes at most 1000 delayed jobs ready.
      const due = `(SELECT ${now})`;
      const sql = `
        SELECT j.id, j.queue, j.job, j.priority, j.ready_at, j.attempt FROM (
          SELECT * FROM (
            (SELECT id, ${part.ready} AS part, rank AS position, seq FROM ${s}.ready WHERE queue = $2 ORDER BY queue, rank, seq LIMIT $3)
            UNION ALL (SELECT id, ${part.ready}, rank, seq FROM ${s}.delayed WHERE queue = $2 AND ready_at <= ${due}
              ORDER BY queue, ready_at, seq LIMIT $3 + 1000)
            UNION ALL (SELECT id, ${part.inLine}, row_number() OVER (ORDER BY queue, name, state, place, seq), seq FROM ${s}.grouped
              WHERE queue = $2 AND state = ${GroupState.inLine} ORDER BY queue, name, state, place, seq LIMIT $3)
            UNION ALL (SELECT id, ${part.delayed}, ready_at, seq FROM ${s}.delayed WHERE queue = $2 AND ready_at > ${due}
              ORDER BY queue, ready_at, seq LIMIT $3)) waiting
          ORDER BY part, position, seq LIMIT $3) i
        CROSS JOIN LATERAL (SELECT * FROM ${s}.jobs WHERE id = i.id OFFSET 0) j
        ORDER BY i.part, i.position, i.seq`;
      return (await db.query('peeking', sql, [state.at(), queue, max])).map(peekedOf);
    },
    async clear(queue, gone) {
      const waiting = ['ready', 'delayed', 'grouped'].map(
        (table) => `SELECT id FROM ${s}.${table} WHERE queue = $1`,
      );
      const before = gone && (await db.query('clearing', waiting.join(' UNION ALL '), [queue]));
      const [row] = await db.query('clearing', `SELECT ${s}.clear_queue($1)`, [queue]);
      for (const some of slices(before ?? [], idsAtOnce)) {
        const ids = some.map(([id]) => id as string);
        const left = await db.query('clearing', `SELECT id FROM ${s}.jobs WHERE id = ANY($1)`, [ids]);
        const stays = new Set(left.map(([id]) => id));
        await gone!(ids.filter((id) => !stays.has(id)));
      }
      return Number(row![0]);
    },
    async setPaused(queue, isPaused) {
      await setPaused(queue, isPaused);
      if (!isPaused) state.wake(queue);
    },
    deadLetters: postgresDeadLetters(state, maxBodyBytes),
  };
}

interface Where {
  readonly queue: string | undefined;
  readonly max: number;
  readonly after?: readonly [diedAt: number, seq: number];
}

const wholeOf = (row: Row): DeadLetter => ({ ...deadOf(row), body: row[7] as string });

function postgresDeadLetters(state: PostgresState, maxBodyBytes: number): DeadLetters {
  const { db, ageingMs } = state;
  const s = db.schema;

  /** Newest first. `octet_length` of a large body does not read the body: its length is in the row. */
  function read(columns: string, { queue, max, after }: Where): Promise<Row[]> {
    const values: unknown[] = [max];
    const where: string[] = [];
    if (queue !== undefined) where.push(`queue = $${values.push(storable(queue))}`);
    if (after) where.push(`(finished_at, seq) < ($${values.push(after[0])}, $${values.push(after[1])})`);
    // The queue is in ORDER BY, so that the index by queue is used whatever the statistics of the server are.
    const sql = `SELECT ${deadColumns}, ${columns} FROM ${s}.dead ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''}
      ORDER BY ${queue === undefined ? '' : 'queue DESC, '}finished_at DESC, seq DESC LIMIT $1`;
    return db.query('listing dead letters', sql, values);
  }

  const given = (name: string): string => `CASE WHEN new_id IS NULL THEN ${name} ELSE new_${name} END`;
  /** One statement, so that a job moves between the tables together with its new body and facts, or not at all. */
  const revive = `
    WITH given AS (SELECT ${timeOf('$1')} AS now),
    fresh AS (
      SELECT unnest($4::text[]) AS new_id, unnest($5::text[]) AS new_body, unnest($6::text[]) AS new_idempotency_key,
        unnest($7::text[]) AS new_schedule, unnest($8::text[]) AS new_facts),
    found AS (DELETE FROM ${s}.dead WHERE id = ANY ($3) RETURNING *),
    back AS (
      INSERT INTO ${s}.jobs (${recordNames}, turn, rank, interrupted, cancel_requested, body)
      SELECT ${recordNames.replace('ready_at, attempt', 'now, 0').replace(/idempotency_key|schedule|facts/g, given)},
        nextval('${s}.turns'), now + priority * $2::bigint, false, false, ${given('body')}
      FROM given, found LEFT JOIN fresh ON new_id = id
      RETURNING queue, rank, seq, ready_at, id),
    alone AS (
      INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id)
      SELECT queue, rank, seq, ready_at, id FROM back WHERE id IN (SELECT id FROM found WHERE grouping IS NULL)),
    grouped AS (
      SELECT array_agg(id ORDER BY id) AS ids, array_agg(grouping ORDER BY id) AS groupings FROM found JOIN back USING (id)
      WHERE grouping IS NOT NULL)
    SELECT queue, (SELECT ${s}.revive_groups(now, ids, groupings) FROM given, grouped WHERE ids IS NOT NULL) FROM back`;

  return {
    async list({ queue, max = 100 }) {
      return (await read('body', { queue, max })).map(wholeOf);
    },
    async page({ queue, max = 100, after }) {
      const position = after === undefined ? {} : { after: positionIn(after, 'number', 'number') };
      if (max < 1) return { letters: [], next: null };
      const columns = 'octet_length(body), tenant_id, seq';
      const found = await read(columns, { queue, max: max + 1, ...position });
      const { shown, next } = pageOf(found, max, (row) => [deadOf(row).diedAt, Number(row[9])]);
      return {
        letters: shown.map((row) => ({
          ...deadOf(row),
          bytes: Number(row[7]),
          tenantId: row[8] as string | null,
        })),
        next,
      };
    },
    async get(id) {
      const sql = `SELECT ${deadColumns}, body FROM ${s}.dead WHERE id = $1`;
      const [row] = await db.query('reading a dead letter', sql, [storable(id)]);
      return row ? wholeOf(row) : null;
    },
    async retry(ids, replaced) {
      const fresh = [...(replaced ?? [])].map(([id, replacement]) => ({ id, ...replacement }));
      for (const message of fresh) {
        const error = refusal(message, maxBodyBytes);
        if (error) throw error;
      }
      const texts = [fresh.map(({ id }) => id), fresh.map(({ body }) => body)].map(textArray);
      const values = [state.at(), ageingMs, [...new Set(ids)], ...texts, ...factArrays(fresh)];
      const rows = await db.query('retrying', revive, values);
      if (rows.length === 0) return 0;
      const queues = new Set(rows.map(([queue]) => queue as string));
      for (const queue of queues) state.wake(queue);
      await state.notify([...queues]);
      return rows.length;
    },
    async discard(ids) {
      const sql = `DELETE FROM ${s}.dead WHERE id = ANY ($1) RETURNING 1`;
      return (await db.query('discarding', sql, [ids])).length;
    },
  };
}
