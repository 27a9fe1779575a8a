/** Pages and single dead letters for brokers that can only list from the front. */

import type { DeadLetter, DeadLetterPage, DeadLetterSummary, DeadLetters } from '../../contract/admin.ts';
import { forEach } from '../parallel.ts';
import { pageOf, positionIn } from './filter.ts';

/** The query of `DeadLetters.page`. */
type DeadLetterQuery = Parameters<NonNullable<DeadLetters['page']>>[0];

/** More letters than a broker lists in one call. Each call reads from the front again, so the first one should suffice. */
export const firstMax = 10_001;
const readAtOnce = 16;

/** @param tenantId as the sender set it; unverified */
export function summaryOf({ body, ...rest }: DeadLetter, tenantId: string | null): DeadLetterSummary {
  return { ...rest, bytes: Buffer.byteLength(body), tenantId };
}

/** `DeadLetters.page`, or a page made from `list`, whose letters have no tenant. Throws `OPTION` for a wrong cursor. */
export async function pageOfDeadLetters(
  deadLetters: DeadLetters,
  query: DeadLetterQuery,
): Promise<DeadLetterPage> {
  if (deadLetters.page) return deadLetters.page(query);
  const { after, max = 100, ...filter } = query;
  const [before, idBefore] = after === undefined ? [Infinity, ''] : positionIn(after, 'number', 'string');
  if (max < 1) return { letters: [], next: null };
  for (let listedMax = firstMax; ; listedMax *= 2) {
    const listed = await deadLetters.list({ ...filter, max: listedMax });
    const isWhole = listed.length < listedMax;
    // More letters may have died in the same millisecond as the last one, and would belong before it.
    const from = isWhole ? -Infinity : listed.at(-1)!.diedAt + 1;
    const found = listed
      .filter(({ diedAt, id }) => diedAt >= from && (diedAt < before || (diedAt === before && id < idBefore)))
      .sort((a, b) => b.diedAt - a.diedAt || (a.id < b.id ? 1 : -1));
    if (!isWhole && found.length <= max) continue;
    const { shown, next } = pageOf(found, max, ({ diedAt, id }) => [diedAt, id]);
    return { letters: shown.map((letter) => summaryOf(letter, null)), next };
  }
}

/** The dead letters with these ids, by `DeadLetters.get` or from `list`. Missing ones are left out. */
export async function getDeadLetters(
  deadLetters: DeadLetters,
  ids: readonly string[],
): Promise<Map<string, DeadLetter>> {
  const found = new Map<string, DeadLetter>();
  if (ids.length === 0) return found;
  if (deadLetters.get) {
    await forEach(
      ids,
      async (id) => {
        const letter = await deadLetters.get!(id);
        if (letter) found.set(id, letter);
      },
      readAtOnce,
    );
    return found;
  }
  const wanted = new Set(ids);
  for (let max = firstMax; ; max *= 2) {
    const listed = await deadLetters.list({ max });
    for (const letter of listed) if (wanted.has(letter.id)) found.set(letter.id, letter);
    if (listed.length < max || found.size === wanted.size) return found;
  }
}

export const getDeadLetter = async (deadLetters: DeadLetters, id: string): Promise<DeadLetter | null> =>
  (await getDeadLetters(deadLetters, [id])).get(id) ?? null;
