/** How leases end: by an ack, a nack, an abandon, or by their time. */

import { slices } from '../../../core/base/slices.ts';
import type {
  Ack,
  BackendHints,
  JobLease,
  JobSettler,
  JobSource,
  Nack,
} from '../../../core/contract/queue.ts';
import { lostFormat } from '../shared/defaults.ts';
import { type Leases, mostPerCall } from './leases.ts';
import { msText, reportText } from './rows.ts';
import type { RedisState } from './state.ts';

const mostReaped = 200;
/** So many groups are looked at when a queue is reaped; the next call goes on behind them. */
const mostHealed = 100;

export function createSettler(
  state: RedisState,
  { lease, ackAndLease }: Leases,
): JobSettler & Pick<JobSource, 'reapExpired'> & Required<Pick<BackendHints, 'ackAndFetch'>> {
  const lost = lostFormat('%s', '%s', '%s'); // for Lua's `string.format`

  /** Of each queue the last group that was looked at. */
  const healed = new Map<string, string>();

  /** Gives groups a head that should have one. */
  async function heal(queue: string): Promise<void> {
    const args = [healed.get(queue) ?? '', `${mostHealed}`, state.channel(queue)];
    healed.set(queue, (await state.manage('reaping', queue, 'heal', args)) as string);
  }

  async function ack(acks: readonly Ack[]): Promise<boolean[]> {
    const settled: boolean[] = new Array(acks.length);
    const byQueue = Map.groupBy(acks.keys(), (i) => acks[i]!.lease.queue);
    const calls = [...byQueue].flatMap(([queue, all]) =>
      [...slices(all, mostPerCall)].map(async (indexes) => {
        const mine = indexes.map((i) => acks[i]!);
        const answer = await ackAndLease(queue, mine, 0, 0);
        for (const [n, i] of indexes.entries()) settled[i] = answer.settled[n]!;
      }),
    );
    await Promise.all(calls);
    return settled;
  }

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
      // What was settled stays so: if leasing has failed, the next fetch will say so.
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

    async renew(leases, leaseMs) {
      const renewed: boolean[] = new Array(leases.length);
      const byQueue = Map.groupBy(leases.keys(), (i) => leases[i]!.queue);
      await Promise.all(
        [...byQueue].map(async ([queue, indexes]) => {
          const tokens = indexes.map((i) => leases[i]!.token);
          const flags = (await state.manage('renewing', queue, 'renew', [`${leaseMs}`, ...tokens])) as string;
          for (const [n, i] of indexes.entries()) renewed[i] = flags[n] === '1';
        }),
      );
      return renewed;
    },

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
