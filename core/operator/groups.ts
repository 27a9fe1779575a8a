/** Dead letters by what they died of. */

import { pageOfDeadLetters } from '../kit/records/dead-letter-pages.ts';
import { envelopeIn, itemOf, matches, type Selected } from './select.ts';
import type { DeadLetterFilter, DeadLetterGroup, DeadLetterGroups, DeadLetterItem } from './types.ts';

const pageSize = 500;

type Group = { -readonly [Name in keyof DeadLetterGroup]: DeadLetterGroup[Name] } & { queues: string[] };

/** @param max letters to look at, newest first */
export async function groupsOf(
  selected: Selected,
  filter: DeadLetterFilter,
  max = 5_000,
): Promise<DeadLetterGroups> {
  const groups = new Map<string, Group>();
  let looked = 0;
  let next: string | null = null;
  for await (const page of newestOf(selected, filter, max)) {
    for (const letter of page.letters) if (matches(letter, filter)) add(groups, letter);
    looked += page.letters.length;
    next = page.next;
  }
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count || b.newestAt - a.newestAt);
  return { groups: sorted, looked, complete: next === null };
}

async function* newestOf(
  { app, deadLetters }: Selected,
  { queue, tenantId }: DeadLetterFilter,
  max: number,
): AsyncGenerator<{ readonly letters: readonly DeadLetterItem[]; readonly next: string | null }> {
  const query = queue === undefined ? {} : { queue };
  if (!deadLetters.page && tenantId !== undefined) {
    // Only their texts say whose they are.
    const listed = await deadLetters.list({ ...query, max: max + 1 });
    const letters = listed.slice(0, max).map(({ body, ...letter }) => {
      const tenant = envelopeIn(app, body)?.context?.tenantId ?? null;
      return itemOf({ ...letter, bytes: Buffer.byteLength(body), tenantId: tenant });
    });
    yield { letters, next: listed.length > max ? letters.at(-1)!.id : null };
    return;
  }
  // Each page of a broker that can only list looks through all of it.
  const size = deadLetters.page ? pageSize : max;
  let after: string | null = null;
  for (let left = max; left > 0; ) {
    const at: { after?: string } = after === null ? {} : { after };
    const page = await pageOfDeadLetters(deadLetters, { ...query, ...at, max: Math.min(size, left) });
    yield { letters: page.letters.map(itemOf), next: page.next };
    left -= Math.max(1, page.letters.length);
    after = page.next;
    if (after === null) return;
  }
}

function add(groups: Map<string, Group>, letter: DeadLetterItem): void {
  const { fingerprint, job, reason, error, queue, id, diedAt } = letter;
  const group = groups.get(fingerprint);
  if (!group) {
    const times = { newestAt: diedAt, oldestAt: diedAt };
    groups.set(fingerprint, {
      fingerprint,
      job,
      reason,
      error,
      queues: [queue],
      count: 1,
      newestId: id,
      ...times,
    });
    return;
  }
  group.count++;
  if (!group.queues.includes(queue)) group.queues.push(queue);
  group.oldestAt = Math.min(group.oldestAt, diedAt);
  if (diedAt <= group.newestAt) return;
  Object.assign(group, { newestAt: diedAt, newestId: id, error });
}
