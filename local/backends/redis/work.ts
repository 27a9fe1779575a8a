/** Claims and settlements: the calls of the hot path. */

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
import { lostAttempt } from '../shared/defaults.ts';
import type { RedisState } from './index.ts';
import { attemptOf, bodyOf, idOf, orderOf, reportText } from './rows.ts';
import { scripts } from './scripts.ts';

export interface Claimed {
  readonly leases: JobLease[];
  /** In how many ms the next delayed job is due. */
  readonly nextDueMs: number | null;
}

export interface Worker
  extends JobSettler,
    Pick<JobSource, 'reapExpired'>,
    Required<Pick<BackendHints, 'ackAndFetch'>> {
  /** @param listens whether who finds nothing waits to be notified */
  claim(request: Request, listens?: boolean): Promise<Claimed>;
}

type Request = Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>;
type WorkAnswer = [
  flags: string,
  nextDueMs: number | null,
  at: string,
  ids: string[],
  texts: (string | null)[],
  states: (string | null)[],
];
type HeadsAnswer = [nextDueMs: number | null, membersAndRanks: string[]];

/** A script may not run for long, and Lua cannot take more than some 8,000 values at once. */
const mostPerCall = 1_000;
const mostReaped = 200;

export function createWorker(state: RedisState): Worker {
  const { clock, link } = state;
  const lost = lostReport();

  async function work(
    queue: string,
    acks: readonly Ack[],
    max: number,
    leaseMs: number,
    listens = false,
  ): Promise<Claimed & { flags: string }> {
    // 88 random bits, and never an id of a claim that was: the moment follows.
    const nonce = max > 0 ? randomBytes(9).toString('base64url').slice(0, 11) : '';
    const args = [...state.common(), nonce, `${max}`, `${leaseMs}`, `${acks.length}`, listens ? '1' : '0'];
    // Not by iterators, which make an object per job: what is called once per batch is long not compiled in full.
    for (let i = 0; i < acks.length; i++) args.push(acks[i]!.lease.token);
    for (let i = 0; i < acks.length && state.keep; i++) args.push(reportText(acks[i]!.report));
    for (let i = 0; i < acks.length; i++) {
      const { complete } = acks[i]!;
      if (!complete) continue;
      const { key, owner, value, keepUntil } = complete;
      const keepMs = Math.ceil(keepUntil - clock.now());
      args.push(`${i + 1}`, state.key(key), owner, value === null ? '' : `=${value}`, `${keepMs}`);
    }
    const expiresAt = clock.now() + leaseMs;
    const during = acks.length === 0 ? 'claiming' : max > 0 ? 'settling and claiming' : 'settling';
    const answer = await link.run(during, scripts.work, state.base(queue), args);
    const [flags, nextDueMs, at, ids, texts, states] = answer as WorkAnswer;
    const claim = nonce + at.padStart(13, '0');
    const leases: JobLease[] = [];
    for (let i = 0; i < ids.length; i++) {
      const text = texts[i];
      if (text == null) continue; // somebody has deleted its text: there is nothing to run
      const { before, interrupted } = attemptOf(states[i]);
      const token = claim + ids[i]!;
      leases.push({ queue, body: bodyOf(text), attempt: before + 1, token, expiresAt, interrupted });
    }
    return { flags, nextDueMs, leases };
  }

  /** Several queues share one order: first their heads are compared, then each gives as many as are among the first. */
  async function claimFromMany(
    queues: readonly string[],
    max: number,
    leaseMs: number,
    listens: boolean,
  ): Promise<Claimed> {
    const heads = (await Promise.all(
      queues.map((queue) => state.manage('claiming', queue, 'heads', [`${max}`, listens ? '1' : '0'])),
    )) as HeadsAnswer[];
    const places = heads.flatMap(([, list], q) =>
      Array.from({ length: list.length / 2 }, (_, i) => ({
        queue: queues[q]!,
        member: list[2 * i]!,
        rank: Number(list[2 * i + 1]),
      })),
    );
    places.sort((a, b) => a.rank - b.rank || (orderOf(a.member) < orderOf(b.member) ? -1 : 1));
    const wanted = places.slice(0, max);
    const order = new Map(wanted.map(({ member }, i) => [idOf(member), i]));
    const claims = await Promise.all(
      queues.map((queue) => {
        const share = wanted.filter((place) => place.queue === queue).length;
        return share === 0 ? null : work(queue, [], share, leaseMs);
      }),
    );
    const dues = heads.flatMap(([due]) => due ?? []);
    const leases = claims.flatMap((claim) => claim?.leases ?? []);
    // Others may have taken some meanwhile: what came instead is put at the end.
    const rankOf = ({ token }: JobLease) => order.get(token.slice(24)) ?? max;
    leases.sort((a, b) => rankOf(a) - rankOf(b));
    return { leases, nextDueMs: dues.length > 0 ? Math.min(...dues) : null };
  }

  async function claim({ queues, max: wanted, leaseMs }: Request, listens = false): Promise<Claimed> {
    const max = Math.min(wanted, mostPerCall);
    const distinct = [...new Set(queues)];
    if (distinct.length === 1) return work(distinct[0]!, [], max, leaseMs, listens);
    return claimFromMany(distinct, max, leaseMs, listens);
  }

  /** Settles queue by queue; the answers in the order of the acks. */
  async function ack(acks: readonly Ack[]): Promise<boolean[]> {
    const settled: boolean[] = new Array(acks.length);
    const byQueue = Map.groupBy(acks.keys(), (i) => acks[i]!.lease.queue);
    const calls: Promise<void>[] = [];
    for (const [queue, all] of byQueue) {
      for (let from = 0; from < all.length; from += mostPerCall) {
        const places = all.slice(from, from + mostPerCall);
        const mine = places.map((i) => acks[i]!);
        calls.push(
          work(queue, mine, 0, 0).then(({ flags }) => {
            places.forEach((i, n) => {
              settled[i] = isSet(flags, n);
            });
          }),
        );
      }
    }
    await Promise.all(calls);
    return settled;
  }

  async function nack({ queue, token }: JobLease, { delayMs, countAttempt, report }: Nack): Promise<boolean> {
    const counted = countAttempt ? '1' : '0';
    const args = [token, `${Math.ceil(delayMs)}`, counted, reportText(report), state.channel(queue)];
    const settled = (await state.manage('settling', queue, 'nack', args)) === 1;
    if (settled) state.wake();
    return settled;
  }

  return {
    claim,
    ack,

    async ackAndFetch(acks, request) {
      const [queue, ...others] = new Set(request.queues);
      const fits = acks.length <= mostPerCall && acks.every(({ lease }) => lease.queue === queue);
      if (others.length > 0 || !fits) {
        const [acked, claimed] = await Promise.allSettled([ack(acks), claim(request)]);
        // What was settled stays so: that the claim has failed is told by the next one.
        const leases = claimed.status === 'fulfilled' ? claimed.value.leases : [];
        if (acked.status === 'fulfilled') return { settled: acked.value, leases };
        const back = leases.map((lease) => nack(lease, { delayMs: 0, countAttempt: false }));
        await Promise.allSettled(back);
        throw acked.reason;
      }
      const max = Math.min(request.max, mostPerCall);
      const { flags, leases } = await work(queue!, acks, max, request.leaseMs);
      return { settled: acks.map((_, i) => isSet(flags, i)), leases };
    },

    nack,

    async abandon({ queue, token }, { reason, error, report }) {
      const end = reason === 'cancelled' || reason === 'expired' ? reason : 'failed';
      const args = [token, end, reason, JSON.stringify(error), reportText(report)];
      const answer = await state.manage('settling', queue, 'abandon', args);
      const [settled, dropped] = answer as [number, number];
      if (dropped > 0) state.dropped(queue);
      return settled === 1;
    },

    async renew(leases, leaseMs) {
      const renewed: boolean[] = new Array(leases.length);
      const byQueue = Map.groupBy(leases.keys(), (i) => leases[i]!.queue);
      await Promise.all(
        [...byQueue].map(async ([queue, places]) => {
          const tokens = places.map((i) => leases[i]!.token);
          const flags = (await state.manage('renewing', queue, 'renew', [`${leaseMs}`, ...tokens])) as string;
          for (const [n, i] of places.entries()) renewed[i] = flags[n] === '1';
        }),
      );
      return renewed;
    },

    async reapExpired(queue) {
      const args = [lost, `${mostReaped}`, state.channel(queue)];
      for (let total = 0; ; ) {
        const answer = await state.manage('reaping', queue, 'reap', args);
        const [count, seen] = answer as [number, number];
        total += count;
        if (total > 0) state.wake();
        if (seen < mostReaped) return total;
      }
    },
  };
}

/** The answer to acks: '' = all were settled. */
const isSet = (flags: string, i: number): boolean => flags === '' || flags[i] === '1';

/** For `string.format` of Lua: attempt, start and end are filled in there. */
function lostReport(): string {
  const [number, start, end] = [-1, -2, -3];
  const text = JSON.stringify({ ...lostAttempt(number), startedAt: start, endedAt: end });
  return text
    .replaceAll('%', '%%')
    .replace(`:${number},`, ':%s,')
    .replace(`:${start},`, ':%s,')
    .replace(`:${end}`, ':%s');
}
