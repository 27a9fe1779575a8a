import type { CancelResult, RecordStore } from '../../../core/contract/store.ts';
import { payloadOf } from '../../../core/kit/records/payload.ts';
import type { EndWatches } from '../shared/end-watches.ts';
import { groupedReads } from '../shared/grouped-reads.ts';
import { purgeBatches } from './batches.ts';
import { purgeLimits } from './limits.ts';
import { createPages } from './pages.ts';
import { type Found, publicRecord, type Whole, wholeOf } from './rows.ts';
import type { RedisState } from './state.ts';
import type { RedisTexts } from './texts.ts';

export function redisRecords(state: RedisState, texts: RedisTexts, ends: EndWatches | null): RecordStore {
  const page = createPages(state);

  /** Asks every queue: an id does not say which one has the job. */
  async function everywhere(during: string, action: string, args: readonly string[]): Promise<unknown[]> {
    const queues = await state.queues();
    return Promise.all(queues.map((queue) => state.manage(during, queue, action, args)));
  }

  /** Answers how to find one of them; what cannot be read throws there. */
  async function findAll(
    ids: readonly string[],
    what: 'facts' | 'whole',
  ): Promise<(id: string) => Whole | null> {
    const places = new Map<string, { readonly queue: string; readonly found: Found }>();
    for (const queue of await state.queues()) {
      const asked = ids.filter((id) => !places.has(id));
      if (asked.length === 0) break;
      const answers = (await state.manage('reading', queue, what, asked)) as Found[];
      for (const [i, found] of answers.entries())
        if (found[0] != null || found[1] != null) places.set(asked[i]!, { queue, found });
    }
    return (id) => {
      const place = places.get(id);
      return place ? wholeOf(place.queue, id, place.found) : null;
    };
  }

  const factsOf = groupedReads((ids) => findAll(ids, 'facts'));

  const bodyOf = async (id: string) => (await findAll([id], 'whole'))(id)?.body || null;

  return {
    async get(id) {
      const whole = await factsOf(id);
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
        texts.purgeEnded(Math.floor(state.clock.now())),
      ]);
      return (counts.flat() as number[]).reduce((sum, count) => sum + count, 0);
    },
  };
}
