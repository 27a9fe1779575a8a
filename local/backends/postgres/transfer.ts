/** Transfers waiting jobs to and from another backend. A held job belongs to a batch of leases that never ends. */

import { randomBytes } from 'node:crypto';
import type { MessageFacts } from '../../../core/contract/outcome.ts';
import type { SendResult } from '../../../core/contract/queue.ts';
import { statusOfEnd } from '../../../core/kit/records/row.ts';
import type { MovedJob, QueueTransfer } from '../../move/contract.ts';
import { GroupState, groupingIn } from '../shared/groups.ts';
import { JobState, reportLine, reportsIn } from '../shared/report-lines.ts';
import { bigintArray, intArray, textArray } from './arrays.ts';
import type { Row } from './client.ts';
import { factArrays, groupArrays, refusal } from './enqueue.ts';
import { groupingOf } from './group-pieces.ts';
import { lookBackPayload } from './listen.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** Prefix of the batches of held jobs only. */
const prefix = '~move.';
const forever = Number.MAX_SAFE_INTEGER;
const columns =
  'id, queue, job, tenant_id, priority, created_at, ready_at, attempt, interrupted, progress, reports, facts, body';

export function postgresTransfer(state: PostgresState, maxBodyBytes: number): QueueTransfer {
  const { db, ageingMs } = state;
  const s = db.schema;
  const now = timeOf('$1');
  const newBatch = (): string => prefix + randomBytes(12).toString('base64url');
  /** The held jobs among the ids $2 of the queue $1. A job that is no longer held has another `turn`. */
  const mine = `
    SELECT j.id FROM ${s}.jobs j WHERE j.id = ANY ($2::text[]) AND EXISTS (
      SELECT FROM ${s}.leases l WHERE l.queue = $1 AND l.claim LIKE '${prefix}%' AND j.turn = ANY (l.turns))`;
  /** Removes empty batches. A separate statement, because it must see the changes of the one before. */
  const tidy = `
    DELETE FROM ${s}.leases l WHERE l.queue = $1 AND l.claim LIKE '${prefix}%'
      AND NOT EXISTS (SELECT FROM ${s}.jobs j JOIN unnest(l.ids, l.turns) m (id, turn) ON j.id = m.id AND j.turn = m.turn)`;

  const some = (table: string, where: string, order: string) => `
    SELECT ctid FROM ${s}.${table} WHERE queue = $2 ${where} ORDER BY queue, ${order}, seq LIMIT $3 FOR UPDATE SKIP LOCKED`;
  const waitingIn = (table: string, order: string) =>
    `DELETE FROM ${s}.${table} WHERE ctid = ANY (ARRAY(${some(table, '', order)})) RETURNING id, ${order} AS position, ''::text AS name`;
  const sources = [
    waitingIn('ready', 'rank'),
    `SELECT id, place AS position, name FROM ${s}.grouped
      WHERE ctid = ANY (ARRAY(${some('grouped', `AND state = ${GroupState.inLine}`, 'name, state, place')}))`,
    waitingIn('delayed', 'ready_at'),
  ];

  async function holdFrom(source: string, queue: string, max: number): Promise<MovedJob[]> {
    const sql = `
      WITH picked AS (${source}),
      taken AS MATERIALIZED (
        SELECT j.*, p.name, p.position FROM picked p JOIN ${s}.jobs j ON j.id = p.id),
      lease AS (
        INSERT INTO ${s}.leases (claim, queue, claimed_at, until, ids, turns)
        SELECT $4, $2, ${now}, ${forever}, array_agg(id), array_agg(turn) FROM taken HAVING count(*) > 0)
      SELECT ${columns}, ${groupingOf(s, 'taken.id')} FROM taken,
        (SELECT ${s}.lease_groups(${now}, array_agg(id)) AS came FROM taken) others
      WHERE came IS NOT NULL ORDER BY name, position, seq`;
    return (await db.query('holding', sql, [state.at(), queue, max, newBatch()])).map(movedOf);
  }

  async function store(jobs: readonly MovedJob[], queue: string): Promise<Set<string>> {
    const sql = `
      WITH ended AS MATERIALIZED (SELECT coalesce(${s}.ended_ids(0, $3::text[]), '{}') AS ids),
      given AS (
        SELECT nextval('${s}.turns') AS seq, g.* FROM unnest($3::text[], $4::text[], $5::text[], $6::int[], $7::bigint[], $8::bigint[],
          $9::int[], $10::int[], $11::text[], $12::text[], $13::text[], $14::int[], $15::bigint[], $16::text[], $17::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[])
          g (id, job, tenant_id, priority, created_at, ready_at, attempt, interrupted, progress, reports, body, ended, died_at, reason, error,
            idempotency_key, schedule, facts, group_name, ordering)
        WHERE NOT (g.id = ANY ((SELECT ids FROM ended)::text[]))),
      used AS (
        INSERT INTO ${s}.queues AS q (name, grouped) SELECT $2, EXISTS (SELECT FROM given WHERE group_name IS NOT NULL)
        ON CONFLICT (name) DO UPDATE SET grouped = true WHERE excluded.grouped AND NOT q.grouped),
      held AS (
        INSERT INTO ${s}.jobs (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
          cancel_requested, progress, reports, body, idempotency_key, schedule, facts)
        SELECT seq, seq, id, $2, job, tenant_id, priority, created_at, ready_at, ready_at + priority * $19::bigint, attempt, interrupted = 1,
          false, progress, reports, body, idempotency_key, schedule, facts FROM given WHERE ended = 0 ON CONFLICT (id) DO NOTHING RETURNING id, turn, rank),
      -- A job that has run keeps its place ahead of jobs that came meanwhile.
      grouped AS (
        INSERT INTO ${s}.grouped (id, seq, queue, name, ordering, state, place, lag)
        SELECT id, seq, $2, group_name, ordering, ${GroupState.leased},
          CASE WHEN ordering IS NULL OR attempt = 0 AND ready_at > ${now} THEN NULL WHEN attempt > 0 THEN created_at ELSE ready_at END,
          rank - ready_at
        FROM held JOIN given USING (id) WHERE group_name IS NOT NULL),
      lease AS (
        INSERT INTO ${s}.leases (claim, queue, claimed_at, until, ids, turns)
        SELECT $18, $2, ${now}, ${forever}, array_agg(id), array_agg(turn) FROM held HAVING count(*) > 0),
      buried AS (
        INSERT INTO ${s}.dead (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, progress, reports, ended, finished_at,
          reason, error, body, idempotency_key, schedule, facts, grouping)
        SELECT seq, id, $2, job, tenant_id, priority, created_at, ready_at, attempt, progress, reports, ended, died_at, reason, error, body,
          idempotency_key, schedule, facts,
          CASE WHEN group_name IS NOT NULL THEN json_build_object('group', group_name, 'order', ordering)::text END
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
      ...groupArrays(jobs.map(({ message }) => message)),
    ]);
    return new Set(rows.map(([id]) => id as string));
  }

  async function release(queue: string, ids: readonly string[]): Promise<number> {
    const sql = `
      WITH locked AS MATERIALIZED (SELECT ${s}.lock_groups($2::text[]) IS NULL AS done),
      freed AS (UPDATE ${s}.jobs SET turn = nextval('${s}.turns') WHERE id IN (${mine}) AND (SELECT done IS NOT NULL FROM locked) RETURNING id),
      again AS (SELECT ${s}.line(${timeOf('$3')}, $4, id) FROM freed),
      notified AS (SELECT pg_notify($5, payload) FROM unnest(ARRAY[$1, '${lookBackPayload}']) payload WHERE $5::text IS NOT NULL)
      SELECT (SELECT count(*) FROM again), (SELECT count(*) FROM notified)`;
    const values = [queue, textArray(ids), state.at(), state.keep, state.channel];
    const [row] = await db.query('releasing', sql, values);
    await db.query('releasing', tidy, [queue]);
    state.wake(lookBackPayload);
    return Number(row![0]);
  }

  return {
    async hold(queue, max) {
      for (const source of sources) {
        const jobs = await holdFrom(source, queue, max);
        if (jobs.length > 0) return jobs;
      }
      return [];
    },
    async held(queue, max) {
      const sql = `
        SELECT ${columns}, ${groupingOf(s, 'held.id')} FROM (
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
      const sql = `
        WITH gone AS (DELETE FROM ${s}.jobs WHERE id IN (${mine}) AND NOT cancel_requested RETURNING id)
        SELECT id, (SELECT ${s}.end_groups(${timeOf('$3')}, array_agg(id)) FROM gone) FROM gone`;
      const values = [queue, textArray(ids), state.at()];
      const gone = new Set((await db.query('removing', sql, values)).map(([id]) => id));
      state.wakeAll([queue]); // a group may have a new head
      const others = ids.filter((id) => !gone.has(id));
      // Jobs that are still held were cancelled meanwhile. A release ends them.
      if (others.length > 0) await release(queue, others);
      else await db.query('removing', tidy, [queue]);
      return ids.map((id) => gone.delete(id));
    },
  };
}

function movedOf(row: Row): MovedJob {
  const [id, queue, job, tenantId, priority, createdAt, readyAt, attempts, interrupted] = row;
  const [progress, reports, facts, body, grouping] = row.slice(9) as (string | null)[];
  return {
    message: {
      id: id as string,
      queue: queue as string,
      job: job as string,
      body: body!,
      priority: priority as number,
      notBefore: Number(readyAt),
      tenantId: tenantId as string | null,
      ...groupingIn(grouping ?? null),
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
