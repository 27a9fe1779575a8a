import type { RedisState } from './state.ts';

/** The ids that another queue knows. `recently`: among the queues as they were a second ago. */
export async function knownElsewhere(
  state: RedisState,
  queue: string,
  ids: readonly string[],
  recently = false,
): Promise<Set<string>> {
  const others = (await state.queues(recently)).filter((other) => other !== queue);
  const flags = (await Promise.all(
    others.map((other) => state.manage('looking for copies', other, 'known', ids)),
  )) as string[];
  return new Set(ids.filter((_, i) => flags.some((flag) => flag[i] === '1')));
}
