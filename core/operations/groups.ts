/** Dead letters by what they died of. */

import type { DeadLetterPage } from '../contract/admin.ts';
import { pageOfDeadLetters } from '../kit/records/dead-letter-pages.ts';
import { matching, queueOf, type Selected, summariesOf } from './select.ts';
import type { DeadLetterFilter, DeadLetterGroup, DeadLetterGroups, DeadLetterItem } from './types.ts';

const pageSize = 500;

type Group = { -readonly [Name in keyof DeadLetterGroup]: DeadLetterGroup[Name] } & { queues: string[] };

/** @param max letters to look at on each backend, newest first */
export async function groupsOf(
  homes: readonly Selected[],
  filter: DeadLetterFilter,
  max = 5_000,
): Promise<DeadLetterGroups> {
  const groups = new Map<string, Group>();
  let looked = 0;
  let complete = true;
  for (const selected of homes) {
    let next: string | null = null;
    for await (const page of newestOf(selected, filter, max)) {
      for (const letter of matching(page.letters, filter)) add(groups, letter);
      looked += page.letters.length;
      next = page.next;
    }
    complete &&= next === null;
  }
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count || b.newestAt - a.newestAt);
  return { groups: sorted, looked, complete };
}

async function* newestOf(
  { app, deadLetters }: Selected,
  filter: DeadLetterFilter,
  max: number,
): AsyncGenerator<DeadLetterPage> {
  const query = queueOf(filter);
  if (!deadLetters.page && filter.tenantId !== undefined) {
    const listed = await deadLetters.list({ ...query, max: max + 1 });
    const letters = summariesOf(app, listed.slice(0, max));
    yield { letters, next: listed.length > max ? letters.at(-1)!.id : null };
    return;
  }
  // Each page of a broker that can only list looks through all of it.
  const size = deadLetters.page ? pageSize : max;
  let after: string | null = null;
  for (let left = max; left > 0; ) {
    const at: { after?: string } = after === null ? {} : { after };
    const page = await pageOfDeadLetters(deadLetters, { ...query, ...at, max: Math.min(size, left) });
    yield page;
    left -= Math.max(1, page.letters.length);
    after = page.next;
    if (after === null) return;
  }
}

function add(groups: Map<string, Group>, letter: DeadLetterItem): void {
  const { fingerprint, job, reason, error, queue, id, diedAt } = letter;
  const group = groups.get(fingerprint);
  if (!group) {
    const times = { newestId: id, newestAt: diedAt, oldestAt: diedAt };
    groups.set(fingerprint, { fingerprint, job, reason, error, queues: [queue], count: 1, ...times });
    return;
  }
  group.count++;
  if (!group.queues.includes(queue)) group.queues.push(queue);
  group.oldestAt = Math.min(group.oldestAt, diedAt);
  if (diedAt <= group.newestAt) return;
  Object.assign(group, { newestAt: diedAt, newestId: id, error });
}
