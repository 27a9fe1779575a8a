/** Claims and settlements: the calls of the hot path. */

import { randomBytes } from 'node:crypto';
import type {
  Ack,
  BackendHints,
  FetchRequest,
  JobLease,
  JobSettler,
  JobSource,
} from '../../../core/contract/queue.ts';
import { lostAttempt } from '../shared/defaults.ts';
import { bigintArray, intArray, textArray } from './arrays.ts';
import { type PostgresClient, queryTimeoutMs } from './database.ts';
import { Ended } from './ended.ts';
import type { PostgresState } from './index.ts';
import { storedKey } from './keys.ts';
import {
  type ClaimRow,
  createBatches,
  type Leftovers,
  leaseOf,
  type Ownership,
  ownership,
} from './leases.ts';
import { reportLine } from './rows.ts';

export interface Claimed {
  readonly leases: JobLease[];
  /** In how many ms the next delayed job is due. */
  readonly nextDueMs: number | null;
}

export interface Worker
  extends JobSettler,
    Pick<JobSource, 'reapExpired'>,
    Required<Pick<BackendHints, 'ackAndFetch'>> {
  claim(request: Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>): Promise<Claimed>;
  /** Settles on a connection that has a transaction open. `committed` is to be called when it has ended well. */
  ackIn(client: PostgresClient, ack: Ack): Promise<{ settled: boolean; committed(): void }>;
}

const columns = '$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13';
const nothing = { text: textArray([]), int: intArray([]), bigint: bigintArray([]) };

export function createWorker(state: PostgresState): Worker {
  const { db, clock, keep, ageingMs } = state;
  const s = db.schema;
  const batches = createBatches(clock.now);
  const workSql = `SELECT * FROM ${s}.work(${columns}, $14, $15, $16, $17)`;
  const settleSql = `SELECT ${s}.settle(${columns})`;
  // `startedAt` is when the lease was given out: nobody knows whether the handler ever began.
  const lost = lostReport();

  async function work(
    acks: readonly Ack[],
    { queues, max, leaseMs }: Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>,
  ): Promise<Claimed & { settled: boolean[] }> {
    await db.ready();
    const nonce = randomBytes(12).toString('base64url');
    const expiresAt = clock.now() + leaseMs;
    const during = acks.length > 0 ? 'settling and claiming' : 'claiming';
    const wanted = textArray([...new Set(queues)]);
    const owners = acks.map(({ lease }) => ownership(lease));
    const planned = batches.plan(owners);
    const values = [...ackValues(acks, owners, planned), wanted, max, leaseMs, nonce];
    const rows = await db.prepared(during, workSql, values);
    const head = rows.shift()!;
    const settled = answers(acks.length, head[5]);
    confirm(owners, settled, planned);
    const leases = (rows as unknown as ClaimRow[]).map((row) => leaseOf(row, nonce, expiresAt));
    if (leases.length > 0) batches.open(nonce, leases.length, expiresAt);
    return { leases, nextDueMs: numberOrNull(head[1]), settled };
  }

  function ackValues(acks: readonly Ack[], owners: readonly Ownership[], planned: Leftovers): unknown[] {
    const at = state.at();
    const finished = textArray(planned.finished);
    if (acks.length === 0) {
      const { text, int, bigint } = nothing;
      return [at, text, bigint, int, text, null, text, finished, text, text, text, bigint, int];
    }
    const { claims, which } = claimsOf(owners);
    const done = acks.flatMap(({ complete }, i) => (complete ? [{ ...complete, place: i + 1 }] : []));
    return [
      at,
      textArray(owners.map(({ id }) => id)),
      bigintArray(owners.map(({ turn }) => turn)),
      intArray(which),
      textArray(claims),
      keep ? textArray(acks.map(({ report }) => reportLine(report))) : null,
      textArray(planned.renewed),
      finished,
      textArray(done.map(({ key }) => storedKey(key))),
      textArray(done.map(({ owner }) => owner)),
      textArray(done.map(({ value }) => value)),
      bigintArray(done.map(({ keepUntil }) => Math.ceil(keepUntil - clock.now()))),
      intArray(done.map(({ place }) => place)),
    ];
  }

  /** A settlement of one lease. */
  async function settleOne(
    owner: Ownership,
    call: string,
    values: (finished: Buffer) => unknown[],
  ): Promise<boolean> {
    const planned = batches.plan([owner]);
    const settled = await one('settling', call, values(textArray(planned.finished)));
    confirm([owner], [settled as boolean], planned);
    return settled as boolean;
  }

  function confirm(owners: readonly Ownership[], settled: readonly boolean[], planned: Leftovers): void {
    batches.confirm(settled.includes(false) ? owners.filter((_, i) => settled[i]) : owners, planned);
  }

  async function one(during: string, call: string, values: unknown[]): Promise<unknown> {
    await db.ready();
    return (await db.prepared(during, `SELECT ${s}.${call}`, values))[0]![0];
  }

  return {
    claim: (request) => work([], request),
    ackAndFetch: (acks, request) => work(acks, request),

    async ack(acks) {
      if (acks.length === 0) return [];
      await db.ready();
      const owners = acks.map(({ lease }) => ownership(lease));
      const planned = batches.plan(owners);
      const [row] = await db.prepared('settling', settleSql, ackValues(acks, owners, planned));
      const settled = answers(acks.length, row![0]);
      confirm(owners, settled, planned);
      return settled;
    },

    async ackIn(client, ack) {
      const owners = [ownership(ack.lease)];
      const planned = { finished: [], renewed: [owners[0]!.id] };
      const values = ackValues([ack], owners, planned);
      const { rows } = await client.query({
        text: settleSql,
        values,
        rowMode: 'array',
        query_timeout: queryTimeoutMs,
      });
      const [settled] = answers(1, rows[0]![0]);
      return { settled: settled!, committed: () => batches.confirm(owners, planned) };
    },

    async nack(lease, { delayMs, countAttempt, report }) {
      const owner = ownership(lease);
      const settled = await settleOne(
        owner,
        'nack($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
        (finished) => [
          state.at(),
          ageingMs,
          keep,
          owner.id,
          owner.turn,
          owner.claim,
          Math.ceil(delayMs),
          countAttempt,
          countAttempt ? reportLine(report) : '',
          state.channel,
          finished,
        ],
      );
      if (settled) state.wake();
      return settled;
    },

    async abandon(lease, { reason, error, report }) {
      const owner = ownership(lease);
      const end = reason === 'cancelled' || reason === 'expired' ? Ended[reason] : Ended.failed;
      return settleOne(owner, 'abandon($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)', (finished) => [
        state.at(),
        keep,
        owner.id,
        owner.turn,
        owner.claim,
        end,
        reason,
        text(error),
        reportLine(report),
        finished,
      ]);
    },

    async renew(leases, leaseMs) {
      if (leases.length === 0) return [];
      const owners = leases.map(ownership);
      const { claims, which } = claimsOf(owners);
      const renewed = (await one('renewing', 'renew($1, $2, $3, $4, $5, $6)', [
        state.at(),
        textArray(owners.map(({ id }) => id)),
        bigintArray(owners.map(({ turn }) => turn)),
        intArray(which),
        textArray(claims),
        leaseMs,
      ])) as number[];
      const places = new Set(renewed);
      const expiresAt = clock.now() + leaseMs;
      return owners.map((owner, i) => {
        const held = places.has(i + 1);
        if (held) batches.renewed(owner, expiresAt);
        return held;
      });
    },

    async reapExpired(queue) {
      return (await one('reaping', 'reap($1, $2, $3, $4, $5)', [
        state.at(),
        ageingMs,
        keep,
        queue,
        lost,
      ])) as number;
    },
  };
}

/** Each claim once, and for each lease the place of its own, counted from 1 as arrays are. */
function claimsOf(owners: readonly Ownership[]): { claims: string[]; which: number[] } {
  const claims: string[] = [];
  const places = new Map<string, number>();
  const which = owners.map(({ claim }) => {
    const place = places.get(claim) ?? claims.push(claim);
    places.set(claim, place);
    return place;
  });
  return { claims, which };
}

/** The places that were settled, as `{1,3}`; `null` = all. */
function answers(length: number, settled: unknown): boolean[] {
  if (settled === null) return new Array(length).fill(true);
  const places = new Set(
    Array.isArray(settled) ? settled : String(settled).slice(1, -1).split(',').map(Number),
  );
  return Array.from({ length }, (_, i) => places.has(i + 1));
}

const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value));

/** For `format()` of Postgres: attempt, start and end are filled in there. */
function lostReport(): string {
  const [number, start, end] = [-1, -2, -3];
  const text = JSON.stringify({ ...lostAttempt(number), startedAt: start, endedAt: end });
  return text
    .replaceAll('%', '%%')
    .replace(`:${number},`, ':%1$s,')
    .replace(`:${start},`, ':%2$s,')
    .replace(`:${end}`, ':%3$s');
}

/** Text without the one character that Postgres cannot store. */
function text(value: string): string {
  return value.replaceAll('\0', '\uFFFD');
}
