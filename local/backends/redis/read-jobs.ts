import { type Found, type Whole, wholeOf } from './rows.ts';
import type { RedisState } from './state.ts';

/** Those that can be read; the others are warned of. Bodies can be long: only `whole` brings them. */
export async function readJobs(
  state: RedisState,
  queue: string,
  ids: readonly string[],
  what: 'facts' | 'whole' = 'facts',
): Promise<Whole[]> {
  if (ids.length === 0) return [];
  const found = (await state.manage('reading', queue, what, ids)) as Found[];
  const unreadable: string[] = [];
  const jobs = found.flatMap((one, i) => {
    try {
      return wholeOf(queue, ids[i]!, one) ?? [];
    } catch {
      unreadable.push(ids[i]!);
      return [];
    }
  });
  if (unreadable.length > 0) state.warnUnreadable(queue, unreadable);
  return jobs;
}
