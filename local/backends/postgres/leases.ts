/** Leases jobs and settles them: the calls of the hot path. */

import { randomBytes } from 'node:crypto';
import type {
  Ack,
  BackendHints,
  FetchRequest,
  JobLease,
  JobSettler,
  JobSource,
  Nack,
} from '../../../core/contract/queue.ts';
import { together } from '../../../core/kit/parallel.ts';
import { statusOfEnd } from '../../../core/kit/records/row.ts';
import { lostFormat } from '../shared/defaults.ts';
import { groupedReads } from '../shared/grouped-reads.ts';
import { JobState, reportLine } from '../shared/report-lines.ts';
import { bigintArray, intArray, storable, textArray } from './arrays.ts';
import { type PostgresClient, rowsOn } from './client.ts';
import { holding } from './functions.ts';
import { cameForward, cameFrom, thenCame } from './group-pieces.ts';
import { storedKey } from './keys.ts';
import {
  createLeaseTable,
  type LeaseRow,
  type Leftovers,
  leaseOf,
  type Ownership,
  ownership,
} from './lease-table.ts';
import type { PostgresState } from './state.ts';

export interface Leased {
  readonly settled: boolean[];
  readonly leases: JobLease[];
  /** Time until the next delayed job is ready, or until the queues have to be looked at as a whole, ms; `null` = neither. */
  readonly nextLookMs: number | null;
}

type LeaseRequest = Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>;
type Nacked = Nack & { readonly lease: JobLease };

export interface Leases
  extends JobSettler,
    Pick<JobSource, 'reapExpired'>,
    Required<Pick<BackendHints, 'ackAndFetch'>> {
  lease(request: LeaseRequest): Promise<Leased>;
  /** Settles in the open transaction of a connection. Call `committed` after its COMMIT. */
  ackIn(client: PostgresClient, ack: Ack): Promise<{ settled: boolean; committed(): void }>;
  /** Whether the lease is still held. If so, it cannot end before the open transaction of this connection. */
  holdsIn(client: PostgresClient, lease: JobLease): Promise<boolean>;
}

/** The most groups that one reap of a queue looks at; the next reap continues after them. */
const mostHealed = 200;

const columns = '$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14';

export function createLeases(state: PostgresState): Leases {
  const { db, clock, keep, ageingMs, floors } = state;
  const s = db.schema;
  const table = createLeaseTable(clock.now);
  const workSql = `SELECT * FROM ${s}.work(${columns}, $15, $16, $17, $18, $19, $20)`;
  const settleSql = thenCame(`${s}.settle(${columns})`);
  const keepSql = thenCame(`${s}.keep_ended(${s}.settle(${columns}), $1, $2, $15, $16)`);
  const holdSql = holding(s);
  // The locks of all groups are taken at once, so that two calls cannot wait for each other. A batch is removed only if all its leases have ended.
  const nackSql = `
    WITH locked AS MATERIALIZED (SELECT ${s}.lock_groups($4::text[])),
    settled AS MATERIALIZED (
      SELECT a.n, ${s}.nack($1, $2, $3, a.id, a.turn, a.claim, a.delay, a.counted = 1, a.report, $10, '{}') AS done
      FROM locked, unnest($4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::int[], $9::text[])
        WITH ORDINALITY a (id, turn, claim, delay, counted, report, n)),
    gone AS (DELETE FROM ${s}.leases WHERE claim = ANY ($11::text[]) AND (SELECT bool_and(done) FROM settled))
    SELECT answer, ${cameForward} FROM (SELECT array_agg(done ORDER BY n) AS answer FROM settled OFFSET 0) c`;
  // Stops at the first queue with expired leases: one round is enough for a transaction.
  const reapNext = (n: string) => `${n}, ${s}.reap($1, $2, $3, ($4::text[])[${n}], $5)`;
  const reapSql = `
    WITH RECURSIVE reaped (n, jobs) AS (
      SELECT ${reapNext('1')} UNION ALL SELECT ${reapNext('n + 1')} FROM reaped WHERE jobs IS NULL AND n < cardinality($4::text[]))
    SELECT r.*, ${cameForward} FROM (
      SELECT q.queue, jobs, CASE WHEN jobs IS NULL THEN ${s}.heal_groups($1, q.queue, ($6::text[])[n], $7) END
      FROM reaped, LATERAL (SELECT ($4::text[])[n]) q (queue) OFFSET 0) r`;
  /** The last group of each queue that a reap has looked at. */
  const healed = new Map<string, string>();
  // `startedAt` is the time of the lease: it is unknown whether the handler ever began.
  const lost = lostFormat('%1$s', '%2$s', '%3$s');

  async function work(acks: readonly Ack[], { queues, max, leaseMs }: LeaseRequest): Promise<Leased> {
    await db.ready();
    const batch = randomBytes(12).toString('base64url');
    const expiresAt = clock.now() + leaseMs;
    const during = acks.length > 0 ? 'settling and leasing' : 'leasing';
    const distinct = [...new Set(queues)];
    const wanted = textArray(distinct);
    const used = floors.use(distinct);
    const owners = acks.map(({ lease }) => ownership(lease));
    const planned = table.plan(owners);
    const values = [...ackValues(acks, owners, planned), wanted, max, leaseMs, batch, ageingMs, used.floor];
    const rows = await db.prepared(during, workSql, values);
    const head = rows.pop()!;
    floors.learn(distinct, used, head[0] as string | null, head[2] as number);
    const settled = answers(acks.length, head[5]);
    confirm(owners, settled, planned);
    const leases = (rows as unknown as LeaseRow[]).map((row) => leaseOf(row, batch, expiresAt));
    if (leases.length > 0) table.open(batch, leases.length, expiresAt);
    // If it got less than `max`, it has leased all new heads of its queues. Otherwise other workers must be woken.
    state.wakeAll(cameFrom(head[4]).filter((queue) => leases.length >= max || !queues.includes(queue)));
    const times = [head[1] === null ? null : Number(head[1]), used.leftMs()].filter((ms) => ms !== null);
    return { leases, nextLookMs: times.length > 0 ? Math.min(...times) : null, settled };
  }

  function ackValues(acks: readonly Ack[], owners: readonly Ownership[], planned: Leftovers): unknown[] {
    const { batches, which } = batchesOf(owners);
    const done = acks.flatMap(({ complete }, i) => (complete ? [{ ...complete, position: i + 1 }] : []));
    return [
      state.at(),
      textArray(owners.map(({ id }) => id)),
      bigintArray(owners.map(({ version }) => version)),
      intArray(which),
      textArray(batches),
      keep || acks.some(isKeptLonger) ? textArray(acks.map(({ report }) => reportLine(report))) : null,
      textArray(planned.renewed),
      textArray(planned.finished),
      textArray(done.map(({ key }) => storedKey(key))),
      textArray(done.map(({ owner }) => owner)),
      textArray(done.map(({ value }) => value)),
      bigintArray(done.map(({ keepUntil }) => Math.ceil(keepUntil - clock.now()))),
      intArray(done.map(({ position }) => position)),
      keptBodies(acks),
    ];
  }

  /** The statement that settles, and its values. It also sets the retention of records with their own. */
  function settling(
    acks: readonly Ack[],
    owners: readonly Ownership[],
    planned: Leftovers,
  ): [string, unknown[]] {
    const values = ackValues(acks, owners, planned);
    if (!acks.some(hasOwnRetention)) return [settleSql, values];
    const usualMs = keep ? undefined : 0;
    const own = acks.flatMap(({ keepMs = usualMs }, i) =>
      keepMs === undefined ? [] : { which: i + 1, keepMs },
    );
    const whiches = intArray(own.map(({ which }) => which));
    return [keepSql, [...values, whiches, bigintArray(own.map(({ keepMs }) => Math.ceil(keepMs)))]];
  }

  /** Settles one lease. */
  async function settleOne(
    owner: Ownership,
    call: string,
    values: (finished: Buffer) => unknown[],
  ): Promise<boolean> {
    const planned = table.plan([owner]);
    const settled = await one('settling', call, values(textArray(planned.finished)));
    confirm([owner], [settled as boolean], planned);
    return settled as boolean;
  }

  function confirm(owners: readonly Ownership[], settled: readonly boolean[], planned: Leftovers): void {
    table.confirm(settled.includes(false) ? owners.filter((_, i) => settled[i]) : owners, planned);
  }

  /** Jobs that wait for a limit come back together. */
  const nackTogether = together(async (nacks: readonly Nacked[]) => {
    const owners = nacks.map(({ lease }) => ownership(lease));
    const planned = table.plan(owners);
    await db.ready();
    const [row] = await db.prepared('settling', nackSql, [
      state.at(),
      ageingMs,
      keep,
      textArray(owners.map(({ id }) => id)),
      bigintArray(owners.map(({ version }) => version)),
      textArray(owners.map(({ batch }) => batch)),
      bigintArray(nacks.map(({ delayMs }) => Math.ceil(delayMs))),
      intArray(nacks.map(({ countAttempt }) => Number(countAttempt))),
      textArray(nacks.map(({ countAttempt, report }) => (countAttempt ? reportLine(report) : ''))),
      state.channel,
      textArray(planned.finished),
    ]);
    const settled = row![0] as boolean[];
    confirm(owners, settled, planned);
    state.wakeAll(cameFrom(row![1]));
    for (const queue of new Set(nacks.filter((_, i) => settled[i]).map(({ lease }) => lease.queue)))
      state.wake(queue);
    return settled;
  });

  async function one(during: string, call: string, values: unknown[]): Promise<unknown> {
    await db.ready();
    const [row] = await db.prepared(during, thenCame(`${s}.${call}`), values);
    state.wakeAll(cameFrom(row![1]));
    return row![0];
  }

  /** Queues that are reaped at the same time share statements. Nearly always one is enough. */
  const reapExpired = groupedReads(async (queues) => {
    await db.ready();
    const counts = new Map<string, number>();
    let left = [...queues].sort(); // all processes take the locks of groups in this order
    while (left.length > 0) {
      const after = left.map((queue) => healed.get(queue) ?? '');
      const values = [state.at(), ageingMs, keep, textArray(left), lost, textArray(after), mostHealed];
      const rows = await db.prepared('reaping', reapSql, values);
      for (const [queue, jobs, last] of rows as [string, number | null, string | null][]) {
        if (jobs === null) healed.set(queue, last ?? '');
        else counts.set(queue, (counts.get(queue) ?? 0) + jobs);
      }
      state.wakeAll(cameFrom(rows.at(-1)![3]));
      left = left.slice(rows.at(-1)![1] === null ? rows.length : rows.length - 1);
    }
    state.wakeAll([...counts].flatMap(([queue, count]) => (count > 0 ? [queue] : [])));
    return (queue) => counts.get(queue) ?? 0;
  });

  const leases: Leases = {
    lease: (request) => work([], request),
    async ackAndFetch(acks, request) {
      if (!acks.some(hasOwnRetention)) return work(acks, request);
      const settled = await leases.ack(acks);
      // The acks are settled. An error of leasing is left to the next fetch.
      const leased = await work([], request).catch(() => ({ leases: [] }));
      return { settled, leases: leased.leases };
    },

    async ack(acks) {
      if (acks.length === 0) return [];
      await db.ready();
      const owners = acks.map(({ lease }) => ownership(lease));
      const planned = table.plan(owners);
      const [row] = await db.prepared('settling', ...settling(acks, owners, planned));
      const settled = answers(acks.length, row![0]);
      confirm(owners, settled, planned);
      state.wakeAll(cameFrom(row![1]));
      return settled;
    },

    async ackIn(client, ack) {
      const owners = [ownership(ack.lease)];
      const planned = { finished: [], renewed: [owners[0]!.id] };
      const [text, values] = settling([ack], owners, planned);
      const [row] = await rowsOn(client, text, values);
      const [answer, came] = row!;
      const [settled] = answers(1, answer);
      function committed(): void {
        table.confirm(owners, planned);
        state.wakeAll(cameFrom(came));
      }
      return { settled: settled!, committed };
    },

    async holdsIn(client, lease) {
      const { id, version, batch } = ownership(lease);
      const values = [state.at(), id, version, batch];
      return (await rowsOn(client, holdSql, values)).length === 1;
    },

    nack: (lease, how) => nackTogether({ lease, ...how }),

    async abandon(lease, { reason, error, report, keepMs }) {
      const owner = ownership(lease);
      const abandoning = 'abandon($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)';
      const keeping = `keep_ended(CASE WHEN ${s}.${abandoning} THEN NULL ELSE '{}'::int[] END, $1, ARRAY[$3], '{1}', ARRAY[$11::bigint]) IS NULL`;
      return settleOne(owner, keepMs === undefined ? abandoning : keeping, (finished) => [
        state.at(),
        keepMs === undefined ? keep : keepMs > 0,
        owner.id,
        owner.version,
        owner.batch,
        JobState[statusOfEnd(reason)],
        reason,
        storable(error),
        reportLine(report),
        finished,
        ...(keepMs === undefined ? [] : [Math.ceil(keepMs)]),
      ]);
    },

    async renew(leases, leaseMs) {
      if (leases.length === 0) return [];
      const owners = leases.map(ownership);
      const { batches, which } = batchesOf(owners);
      const renewed = (await one('renewing', 'renew($1, $2, $3, $4, $5, $6)', [
        state.at(),
        textArray(owners.map(({ id }) => id)),
        bigintArray(owners.map(({ version }) => version)),
        intArray(which),
        textArray(batches),
        leaseMs,
      ])) as number[];
      const positions = new Set(renewed);
      const expiresAt = clock.now() + leaseMs;
      return owners.map((owner, i) => {
        const held = positions.has(i + 1);
        if (held) table.renewed(owner, expiresAt);
        return held;
      });
    },

    reapExpired,
  };
  return leases;
}

const hasOwnRetention = ({ keepMs }: Ack): boolean => keepMs !== undefined;
const isKeptLonger = ({ keepMs = 0 }: Ack): boolean => keepMs > 0;

/** Positions of the acks whose jobs keep their bodies; `null` = none. */
function keptBodies(acks: readonly Ack[]): Buffer | null {
  if (!acks.some(({ keepBody }) => keepBody)) return null;
  return intArray(acks.flatMap(({ keepBody }, i) => (keepBody ? [i + 1] : [])));
}

/** The distinct batches, and for each lease the position of its batch, counted from 1 as in SQL. */
function batchesOf(owners: readonly Ownership[]): { batches: string[]; which: number[] } {
  const batches: string[] = [];
  const positions = new Map<string, number>();
  const which = owners.map(({ batch }) => {
    const position = positions.get(batch) ?? batches.push(batch);
    positions.set(batch, position);
    return position;
  });
  return { batches, which };
}

/** @param settled the settled positions, as `{1,3}`; `null` = all */
function answers(length: number, settled: unknown): boolean[] {
  if (settled === null) return new Array(length).fill(true);
  const positions = new Set(
    Array.isArray(settled) ? settled : String(settled).slice(1, -1).split(',').map(Number),
  );
  return Array.from({ length }, (_, i) => positions.has(i + 1));
}
