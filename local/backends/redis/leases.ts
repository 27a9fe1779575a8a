/** Leasing and settling, the hot path: one script call settles a batch of jobs and leases the next. */

import { randomBytes } from 'node:crypto';
import { sleep } from '../../../core/base/clock.ts';
import type {
  Ack,
  BackendHints,
  FetchRequest,
  JobLease,
  JobSettler,
  JobSource,
  Nack,
} from '../../../core/contract/queue.ts';
import { lostFormat } from '../shared/defaults.ts';
import { createLooksInVain } from '../shared/looks-in-vain.ts';
import { scripts } from './connection.ts';
import type { Listener } from './listener.ts';
import { ackedText, arrivalOf, attemptOf, bodyOf, idOf, leasedId, msText, reportText } from './rows.ts';
import { flagsOf, perQueue, type RedisState } from './state.ts';

type LeaseRequest = Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>;

interface Leased {
  readonly leases: JobLease[];
  /** ms until the next delayed job is ready. */
  readonly nextDelayedMs: number | null;
}

export type Leases = ReturnType<typeof createLeases>;

type LeaseAnswer = [
  flags: string,
  nextDelayedMs: number | null,
  at: string,
  ids: string[],
  texts: (string | null)[],
  states: (string | null)[],
  isLeft: number,
];
type HeadsAnswer = [nextDelayedMs: number | null, membersAndRanks: string[], inLine: number];

/** A script may not run for long, and Lua unpacks about 8,000 values at most. */
const mostPerCall = 1_000;

export function createLeases(state: RedisState) {
  const { clock, link } = state;

  /** Settles at most `mostPerCall` acks of a queue, then leases up to `max` of its jobs. */
  async function ackAndLease(
    queue: string,
    acks: readonly Ack[],
    max: number,
    leaseMs: number,
    listens = false,
  ): Promise<Leased & { settled: boolean[] }> {
    // Lua adds the time. With 66 random bits no token comes twice.
    const nonce = max > 0 ? randomBytes(9).toString('base64url').slice(0, 11) : '';
    const waking = `${listens ? 1 : 0}${state.channel(queue) === '' ? 0 : 1}`;
    // A job may have a retention of its own even if completed jobs are not kept.
    const keeps = state.keepsCompleted || acks.some(({ keepMs = 0 }) => keepMs > 0);
    const usualMs = keeps && !state.keepsCompleted ? 0 : undefined;
    const args = [...state.common(keeps), nonce, `${max}`, `${leaseMs}`, `${acks.length}`, waking];
    // No iterators: they make an object per job until V8 has optimized this function, which takes long for calls per batch.
    for (let i = 0; i < acks.length; i++) args.push(acks[i]!.lease.token);
    for (let i = 0; i < acks.length && keeps; i++) args.push(ackedText(acks[i]!, usualMs));
    for (let i = 0; i < acks.length; i++) {
      const { complete } = acks[i]!;
      if (!complete) continue;
      const { key, owner, value, keepUntil } = complete;
      const keepMs = Math.ceil(keepUntil - clock.now());
      args.push(`${i + 1}`, state.key(key), owner, value === null ? '' : `=${value}`, `${keepMs}`);
    }
    const expiresAt = clock.now() + leaseMs;
    const during = acks.length === 0 ? 'leasing' : max > 0 ? 'settling and leasing' : 'settling';
    const answer = await link.run(during, scripts.lease, state.base(queue), args);
    const [flags, nextDelayedMs, at, ids, texts, states, isLeft] = answer as LeaseAnswer;
    if (isLeft) state.waiters.wake(queue);
    const tokenStart = nonce + at.padStart(13, '0');
    const leases: JobLease[] = [];
    for (let i = 0; i < ids.length; i++) {
      const text = texts[i];
      if (text == null) continue; // the text was deleted by hand
      const { before, interrupted } = attemptOf(states[i]);
      const id = ids[i]!;
      const token = tokenStart + id;
      leases.push({
        queue,
        body: bodyOf(text, queue, id),
        attempt: before + 1,
        token,
        expiresAt,
        interrupted,
      });
    }
    const settled = acks.map((_, i) => flags === '' || flags[i] === '1'); // '' = all were settled
    return { settled, nextDelayedMs, leases };
  }

  /** Several queues share one order: compares their first jobs, then leases from each queue its share of the first `max`. */
  async function leaseFromMany(
    queues: readonly string[],
    max: number,
    leaseMs: number,
    listens: boolean,
  ): Promise<Leased> {
    const args = [`${max}`, listens ? '1' : '0'];
    const heads = (await Promise.all(
      queues.map((queue) => state.manage('leasing', queue, 'heads', args)),
    )) as HeadsAnswer[];
    const first = heads.flatMap(([, list], q) =>
      Array.from({ length: list.length / 2 }, (_, i) => ({
        queue: queues[q]!,
        member: list[2 * i]!,
        rank: Number(list[2 * i + 1]),
      })),
    );
    first.sort((a, b) => a.rank - b.rank || (arrivalOf(a.member) < arrivalOf(b.member) ? -1 : 1));
    const wanted = first.slice(0, max);
    const order = new Map(wanted.map(({ member }, i) => [idOf(member), i]));
    let spare = max - wanted.length; // for jobs of groups that become heads meanwhile
    const parts = await Promise.all(
      queues.map((queue, q) => {
        const extra = Math.min(spare, heads[q]![2]);
        spare -= extra;
        const share = wanted.filter((one) => one.queue === queue).length + extra;
        return share === 0 ? null : ackAndLease(queue, [], share, leaseMs);
      }),
    );
    const delays = heads.flatMap(([nextDelayedMs]) => nextDelayedMs ?? []);
    const leases = parts.flatMap((part) => part?.leases ?? []);
    // Other workers may have leased some of them. Their replacements go to the end.
    const indexOf = ({ token }: JobLease) => order.get(leasedId(token)) ?? max;
    leases.sort((a, b) => indexOf(a) - indexOf(b));
    return { leases, nextDelayedMs: delays.length > 0 ? Math.min(...delays) : null };
  }

  return {
    ackAndLease,
    /** @param listens whether a worker that finds nothing waits to be woken */
    async lease({ queues, max: wanted, leaseMs }: LeaseRequest, listens = false): Promise<Leased> {
      const max = Math.min(wanted, mostPerCall);
      const distinct = [...new Set(queues)];
      if (distinct.length === 1) return ackAndLease(distinct[0]!, [], max, leaseMs, listens);
      return leaseFromMany(distinct, max, leaseMs, listens);
    },
  };
}

/** A worker that listens polls too: a message can be lost with its connection. */
const safetyPollMs = 2_000;
const nothing: Leased = { leases: [], nextDelayedMs: null };

/**
 * Leases ready jobs. If there are none, it waits for a message, for the next delayed job, or for the next poll.
 *
 * @param listener `null` = this process polls
 */
export function createFetch(
  state: RedisState,
  { lease }: Leases,
  listener: Listener | null,
): JobSource['fetch'] {
  const { clock, waiters, pollMs } = state;
  const looks = createLooksInVain(clock);

  return async ({ queues, max, leaseMs, waitMs, signal }) => {
    const until = clock.now() + waitMs;
    const channels = queues.map(state.channel);
    /** No message came during a whole poll. If a job is ready now, its message was missed. */
    let silent = false;
    /** Other idle workers look at this moment, too. */
    let isTogether = false;
    while (state.isOpen) {
      const now = clock.now();
      const wakes = waiters.wakes(queues);
      const listens = listener !== null && now < until && !signal?.aborted;
      const { leases, nextDelayedMs } = await lease({ queues, max, leaseMs }, listens).catch((error) => {
        if (state.isOpen) throw error;
        return nothing;
      });
      if (isTogether) looks.looked(leases.length > 0);
      if (silent && leases.length > 0) listener?.reconnect();
      if (leases.length > 0 || clock.now() >= until || signal?.aborted) return leases;
      listener?.start(channels);
      const hears = listener?.hears(channels) ?? false;
      const delayedAt = nextDelayedMs === null ? until : now + Math.max(1, nextDelayedMs);
      const pollAt = clock.now() + (hears ? safetyPollMs : pollMs);
      const lookAt = Math.min(pollAt, delayedAt, until);
      if (waiters.wakes(queues) === wakes) await waiters.wait(lookAt - clock.now(), signal, queues);
      const isWoken = waiters.wakes(queues) !== wakes;
      silent = hears && !isWoken && clock.now() >= pollAt;
      isTogether = isWoken || (nextDelayedMs !== null && clock.now() >= delayedAt);
      if (isTogether && state.isOpen) await sleep(clock, looks.waitMs(), signal);
    }
    return [];
  };
}

const mostReaped = 200;
/** Groups that one reap of a queue checks. The next reap continues after them. */
const mostHealed = 100;

/** Ends leases: ack, nack, abandon, and expiry. */
export function createSettler(
  state: RedisState,
  { lease, ackAndLease }: Leases,
): JobSettler & Pick<JobSource, 'reapExpired'> & Required<Pick<BackendHints, 'ackAndFetch'>> {
  const lost = lostFormat('%s', '%s', '%s'); // for Lua's `string.format`

  /** The last group that was checked, by queue. */
  const healed = new Map<string, string>();

  /** Repairs groups that should have a head and have none. */
  async function heal(queue: string): Promise<void> {
    const args = [healed.get(queue) ?? '', `${mostHealed}`, state.channel(queue)];
    healed.set(queue, (await state.manage('reaping', queue, 'heal', args)) as string);
  }

  const ack = (acks: readonly Ack[]): Promise<boolean[]> =>
    perQueue(
      acks,
      ({ lease }) => lease.queue,
      mostPerCall,
      async (queue, mine) => (await ackAndLease(queue, mine, 0, 0)).settled,
    );

  async function nack({ queue, token }: JobLease, { delayMs, countAttempt, report }: Nack): Promise<boolean> {
    const counted = countAttempt ? '1' : '0';
    const args = [token, `${Math.ceil(delayMs)}`, counted, reportText(report), state.channel(queue)];
    const settled = (await state.manage('settling', queue, 'nack', args)) === 1;
    if (settled) state.waiters.wake(queue);
    return settled;
  }

  return {
    ack,
    nack,

    async ackAndFetch(acks, request) {
      const [queue, ...others] = new Set(request.queues);
      const fits = acks.length <= mostPerCall && acks.every((one) => one.lease.queue === queue);
      if (others.length === 0 && fits) {
        const max = Math.min(request.max, mostPerCall);
        const { settled, leases } = await ackAndLease(queue!, acks, max, request.leaseMs);
        return { settled, leases };
      }
      const [acked, leased] = await Promise.allSettled([ack(acks), lease(request)]);
      // If leasing failed, the settled jobs stay settled, and the next fetch reports the error.
      const leases = leased.status === 'fulfilled' ? leased.value.leases : [];
      if (acked.status === 'fulfilled') return { settled: acked.value, leases };
      await Promise.allSettled(leases.map((one) => nack(one, { delayMs: 0, countAttempt: false })));
      throw acked.reason;
    },

    async abandon({ queue, token }, { reason, error, report, keepMs }) {
      const end = reason === 'cancelled' || reason === 'expired' ? reason : 'failed';
      const args = [
        token,
        end,
        reason,
        JSON.stringify(error),
        reportText(report),
        msText(keepMs),
        state.channel(queue),
      ];
      const answer = await state.manage('settling', queue, 'abandon', args);
      const [settled, dropped] = answer as [number, number];
      if (dropped > 0) state.warnDropped(queue);
      return settled === 1;
    },

    renew: (leases, leaseMs) =>
      perQueue(
        leases,
        ({ queue }) => queue,
        Number.POSITIVE_INFINITY,
        async (queue, mine) => {
          const args = [`${leaseMs}`, ...mine.map(({ token }) => token)];
          return flagsOf(await state.manage('renewing', queue, 'renew', args));
        },
      ),

    async reapExpired(queue) {
      const args = [lost, `${mostReaped}`, state.channel(queue)];
      for (let total = 0; ; ) {
        const answer = await state.manage('reaping', queue, 'reap', args);
        const [count, seen, hasGroups] = answer as [number, number, number];
        total += count;
        if (total > 0) state.waiters.wake(queue);
        if (seen < mostReaped) {
          if (hasGroups) await heal(queue);
          return total;
        }
      }
    },
  };
}
