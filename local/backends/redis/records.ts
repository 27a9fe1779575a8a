import type { CancelResult, RecordStore } from '../../../core/contract/store.ts';
import { payloadOf } from '../../../core/kit/records/payload.ts';
import type { EndWatches } from '../shared/end-watches.ts';
import { purgeBatches } from './batches.ts';
import { purgeLimits } from './limits.ts';
import { createPages } from './pages.ts';
import { type Found, publicRecord, type Whole, wholeOf } from './rows.ts';
import type { RedisState } from './state.ts';

export function redisRecords(state: RedisState, ends: EndWatches | null): RecordStore {
  const page = createPages(state);

  /** Asks every queue: an id does not say which one has the job. */
  async function everywhere(during: string, action: string, args: readonly string[]): Promise<unknown[]> {
    const queues = await state.queues();
    return Promise.all(queues.map((queue) => state.manage(during, queue, action, args)));
  }

  async function find(id: string, what: 'facts' | 'whole'): Promise<Whole | null> {
    for (const queue of await state.queues()) {
      const [found] = (await state.manage('reading', queue, what, [id])) as Found[];
      const whole = wholeOf(queue, id, found!);
      if (whole) return whole;
    }
    return null;
  }

  const bodyOf = async (id: string) => (await find(id, 'whole'))?.body || null;

  return {
    async get(id) {
      const whole = await find(id, 'facts');
      return whole && publicRecord(whole);
    },
    page,
    list: async (filter) => [...(await page(filter)).records],
    payload: async (id) => payloadOf(await bodyOf(id)),
    body: bodyOf,
    async progress(id, token, progress) {
      const answers = await everywhere('writing progress', 'progress', [id, token, JSON.stringify(progress)]);
      return answers.includes(1);
    },
    async cancel(id) {
      const queues = await state.queues();
      const cancelIn = (queue: string) =>
        state.manage('cancelling', queue, 'cancel', [id, state.channel(queue)]) as Promise<CancelResult>;
      const answers = await Promise.all(queues.map(cancelIn));
      return answers.find((answer) => answer !== 'unknown') ?? 'unknown';
    },
    ...(ends && { watchEnd: ends.watch }),
    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      return ((await everywhere('reading', 'cancelRequested', ids)) as string[][]).flat();
    },
    async purge(olderThan) {
      const { completedMs, deadMs } = olderThan ?? state.retention;
      const longer = [state.retention.completedMs - completedMs, state.retention.deadMs - deadMs];
      const counts = await Promise.all([
        everywhere('purging', 'purge', [completedMs, deadMs, ...longer].map(String)),
        purgeLimits(state),
        purgeBatches(state),
      ]);
      return (counts.flat() as number[]).reduce((sum, count) => sum + count, 0);
    },
  };
}
