/** Leasing, the hot path: one script call settles a batch of jobs and leases the next. */

import { randomBytes } from 'node:crypto';
import type { Ack, FetchRequest, JobLease } from '../../../core/contract/queue.ts';
import { ackedText, attemptOf, bodyOf, leasedId } from './rows.ts';
import { scripts } from './scripts.ts';
import { arrivalOf, idOf } from './sort-key.ts';
import type { RedisState } from './state.ts';

type LeaseRequest = Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>;

export interface Leased {
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

/** A script may not run for long, and Lua unpacks some 8,000 values at most. */
export const mostPerCall = 1_000;

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
    // 88 random bits. With the time that follows, the token of an earlier lease never comes again.
    const nonce = max > 0 ? randomBytes(9).toString('base64url').slice(0, 11) : '';
    const waking = `${listens ? 1 : 0}${state.channel(queue) === '' ? 0 : 1}`;
    // Where completed jobs are not kept, one of them may be.
    const keeps = state.keepsCompleted || acks.some(({ keepMs = 0 }) => keepMs > 0);
    const usualMs = keeps && !state.keepsCompleted ? 0 : undefined;
    const args = [...state.common(keeps), nonce, `${max}`, `${leaseMs}`, `${acks.length}`, waking];
    // No iterators: until V8 compiles this in full, which takes long for calls per batch, they make an object per job.
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
      if (text == null) continue; // the text was deleted by hand: there is nothing to run
      const { before, interrupted } = attemptOf(states[i]);
      const token = tokenStart + ids[i]!;
      leases.push({ queue, body: bodyOf(text), attempt: before + 1, token, expiresAt, interrupted });
    }
    const settled = acks.map((_, i) => flags === '' || flags[i] === '1'); // '' = all were settled
    return { settled, nextDelayedMs, leases };
  }

  /** Several queues share one order: compares their first jobs, then leases from each as many as are among the first. */
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
    let spare = max - wanted.length; // for those of groups that come forward meanwhile
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
    // Other workers may have leased some of them meanwhile: the jobs that came instead go to the end.
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
