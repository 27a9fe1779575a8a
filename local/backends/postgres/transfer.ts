/** Transfers waiting jobs to and from another backend. A held job belongs to a batch of leases that never ends. */

import { randomBytes } from 'node:crypto';
import type { MessageFacts } from '../../../core/contract/facts.ts';
import type { SendResult } from '../../../core/contract/queue.ts';
import { statusOfEnd } from '../../../core/kit/records/row.ts';
import type { MovedJob, QueueTransfer } from '../../move/contract.ts';
import { JobState, reportLine, reportsIn } from '../shared/report-lines.ts';
import { bigintArray, intArray, textArray } from './arrays.ts';
import type { Row } from './client.ts';
import { refusal } from './enqueue.ts';
import { factArrays } from './facts.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** What the batches of held jobs begin with, and no others. */
const prefix = '~move.';
const forever = Number.MAX_SAFE_INTEGER;
const columns =
  'id, queue, job, tenant_id, priority, created_at, ready_at, attempt, interrupted, progress, reports, facts, body';

export function postgresTransfer(state: PostgresState, maxBodyBytes: number): QueueTransfer {
  const { db, ageingMs } = state;
  const s = db.schema;
  const now = timeOf('$1');
  const newBatch = (): string => prefix + randomBytes(12).toString('base64url');
  /** The held among the ids $2 of the queue $1. A job that is no longer held has another `turn`. */
  const mine = `
    SELECT j.id FROM ${s}.jobs j WHERE j.id = ANY ($2::text[]) AND EXISTS (
      SELECT FROM ${s}.leases l WHERE l.queue = $1 AND l.claim LIKE '${prefix}%' AND j.turn = ANY (l.turns))`;
  /** Removes batches of which nothing is left. A statement of its own, because it must see what the one before has done. */
  const tidy = `
    DELETE FROM ${s}.leases l WHERE l.queue = $1 AND l.claim LIKE '${prefix}%'
      AND NOT EXISTS (SELECT FROM ${s}.jobs j JOIN unnest(l.ids, l.turns) m (id, turn) ON j.id = m.id AND j.turn = m.turn)`;

  async function holdFrom(table: string, order: string, queue: string, max: number): Promise<MovedJob[]> {
    const sql = `
      WITH picked AS (
        DELETE FROM ${s}.${table} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${s}.${table} WHERE queue = $2 ORDER BY queue, ${order}, seq LIMIT $3 FOR UPDATE SKIP LOCKED))
        RETURNING id),
      taken AS MATERIALIZED (
        SELECT j.* FROM picked p JOIN ${s}.jobs j ON j.id = p.id),
      lease AS (
        INSERT INTO ${s}.leases (claim, queue, claimed_at, until, ids, turns)
        SELECT $4, $2, ${now}, ${forever}, array_agg(id), array_agg(turn) FROM taken HAVING count(*) > 0)
      SELECT ${columns} FROM taken ORDER BY ${order}, seq`;
    return (await db.query('holding', sql, [state.at(), queue, max, newBatch()])).map(movedOf);
  }

  async function store(jobs: readonly MovedJob[], queue: string): Promise<Set<string>> {
    const sql = `
      WITH ended AS MATERIALIZED (SELECT coalesce(${s}.ended_ids(0, $3::text[]), '{}') AS ids),
      given AS (
        SELECT nextval('${s}.turns') AS seq, g.* FROM unnest($3::text[], $4::text[], $5::text[], $6::int[], $7::bigint[], $8::bigint[],
          $9::int[], $10::int[], $11::text[], $12::text[], $13::text[], $14::int[], $15::bigint[], $16::text[], $17::text[], $20::text[], $21::text[], $22::text[])
          g (id, job, tenant_id, priority, created_at, ready_at, attempt, interrupted, progress, reports, body, ended, died_at, reason, error,
            idempotency_key, schedule, facts)
        WHERE NOT (g.id = ANY ((SELECT ids FROM ended)::text[]))),
      used AS (INSERT INTO ${s}.queues (name) VALUES ($2) ON CONFLICT DO NOTHING),
      held AS (
        INSERT INTO ${s}.jobs (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
          cancel_requested, progress, reports, body, idempotency_key, schedule, facts)
        SELECT seq, seq, id, $2, job, tenant_id, priority, created_at, ready_at, ready_at + priority * $19::bigint, attempt, interrupted = 1,
          false, progress, reports, body, idempotency_key, schedule, facts FROM given WHERE ended = 0 ON CONFLICT (id) DO NOTHING RETURNING id, turn),
      lease AS (
        INSERT INTO ${s}.leases (claim, queue, claimed_at, until, ids, turns)
        SELECT $18, $2, ${now}, ${forever}, array_agg(id), array_agg(turn) FROM held HAVING count(*) > 0),
      buried AS (
        INSERT INTO ${s}.dead (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, progress, reports, ended, finished_at,
          reason, error, body, idempotency_key, schedule, facts)
        SELECT seq, id, $2, job, tenant_id, priority, created_at, ready_at, attempt, progress, reports, ended, died_at, reason, error, body,
          idempotency_key, schedule, facts
        FROM given g WHERE ended > 0 AND NOT EXISTS (SELECT FROM ${s}.jobs j WHERE j.id = g.id) ON CONFLICT (id) DO NOTHING RETURNING id)
      SELECT id FROM held UNION ALL SELECT id FROM buried`;
    const rows = await db.query('moving', sql, [
      state.at(),
      queue,
      textArray(jobs.map(({ message }) => message.id)),
      textArray(jobs.map(({ message }) => message.job)),
      textArray(jobs.map(({ message }) => message.tenantId)),
      intArray(jobs.map(({ message }) => message.priority)),
      bigintArray(jobs.map(({ createdAt }) => createdAt)),
      bigintArray(jobs.map(({ message, createdAt }) => message.notBefore ?? createdAt)),
      intArray(jobs.map(({ attempts }) => attempts)),
      intArray(jobs.map(({ interrupted }) => (interrupted ? 1 : 0))),
      textArray(jobs.map(({ progress }) => progress && JSON.stringify(progress))),
      textArray(jobs.map(({ reports }) => reports.map(reportLine).join(''))),
      textArray(jobs.map(({ message }) => message.body)),
      intArray(jobs.map(({ death }) => (death ? JobState[statusOfEnd(death.reason)] : 0))),
      bigintArray(jobs.map(({ death }) => death?.at ?? 0)),
      textArray(jobs.map(({ death }) => death?.reason ?? null)),
      textArray(jobs.map(({ death }) => death?.error ?? null)),
      newBatch(),
      ageingMs,
      ...factArrays(jobs.map(({ message }) => message)),
    ]);
    return new Set(rows.map(([id]) => id as string));
  }

  async function release(queue: string, ids: readonly string[]): Promise<number> {
    const sql = `
      WITH freed AS (UPDATE ${s}.jobs SET turn = nextval('${s}.turns') WHERE id IN (${mine}) RETURNING id),
      again AS (SELECT ${s}.line(${timeOf('$3')}, $4, id) FROM freed),
      notified AS (SELECT pg_notify($5, $1) WHERE $5::text IS NOT NULL)
      SELECT (SELECT count(*) FROM again), (SELECT count(*) FROM notified)`;
    const values = [queue, textArray(ids), state.at(), state.keep, state.channel];
    const [row] = await db.query('releasing', sql, values);
    await db.query('releasing', tidy, [queue]);
    state.wake();
    return Number(row![0]);
  }

  return {
    async hold(queue, max) {
      const ready = await holdFrom('ready', 'rank', queue, max);
      return ready.length > 0 ? ready : holdFrom('delayed', 'ready_at', queue, max);
    },
    async held(queue, max) {
      const sql = `
        SELECT ${columns} FROM (
          SELECT j.* FROM ${s}.leases l CROSS JOIN LATERAL unnest(l.ids, l.turns) m (id, turn)
          JOIN ${s}.jobs j ON j.id = m.id AND j.turn = m.turn
          WHERE l.queue = $1 AND l.claim LIKE '${prefix}%') held
        ORDER BY rank, seq LIMIT $2`;
      return (await db.query('listing', sql, [queue, max])).map(movedOf);
    },
    async put(jobs) {
      const refused = new Map(jobs.map((job) => [job, refusal(job.message, maxBodyBytes)]));
      const stored = new Set<string>();
      const good = jobs.filter((job) => refused.get(job) === null);
      for (const [queue, mine] of Map.groupBy(good, ({ message }) => message.queue))
        for (const id of await store(mine, queue)) stored.add(id);
      return jobs.map((job): SendResult => {
        const { id } = job.message;
        const error = refused.get(job);
        return error ? { ok: false, id, error } : { ok: true, id, duplicate: !stored.delete(id) };
      });
    },
    release,
    async remove(queue, ids) {
      const sql = `DELETE FROM ${s}.jobs WHERE id IN (${mine}) AND NOT cancel_requested RETURNING id`;
      const gone = new Set((await db.query('removing', sql, [queue, textArray(ids)])).map(([id]) => id));
      const others = ids.filter((id) => !gone.has(id));
      // Those still held were cancelled meanwhile: releasing ends them.
      if (others.length > 0) await release(queue, others);
      else await db.query('removing', tidy, [queue]);
      return ids.map((id) => gone.delete(id));
    },
  };
}

function movedOf(row: Row): MovedJob {
  const [id, queue, job, tenantId, priority, createdAt, readyAt, attempts, interrupted] = row;
  const [progress, reports, facts, body] = row.slice(9) as (string | null)[];
  return {
    message: {
      id: id as string,
      queue: queue as string,
      job: job as string,
      body: body!,
      priority: priority as number,
      notBefore: Number(readyAt),
      group: null,
      tenantId: tenantId as string | null,
      ...(facts != null && { facts: JSON.parse(facts) as MessageFacts }),
    },
    createdAt: Number(createdAt),
    attempts: attempts as number,
    interrupted: interrupted as boolean,
    reports: reportsIn(reports!),
    progress: progress == null ? null : JSON.parse(progress),
    death: null,
  };
}
