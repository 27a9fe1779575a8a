/** Dead letters of brokers that can only be asked from their front: pages and single letters are found in what they list. */

import type { DeadLetter, DeadLetterPage, DeadLetterSummary, DeadLetters } from '../../contract/admin.ts';
import { pageOf, positionIn } from './filter.ts';

/** What `DeadLetters.page` is asked for. */
export type DeadLetterQuery = Parameters<NonNullable<DeadLetters['page']>>[0];

/** More than a broker looks through in one call. Each call looks through all of it, so that one has to do. */
const firstMax = 10_001;

/** @param tenantId as the queue was told it; nothing has verified the text */
export function summaryOf({ body, ...rest }: DeadLetter, tenantId: string | null): DeadLetterSummary {
  return { ...rest, bytes: Buffer.byteLength(body), tenantId };
}

/** `DeadLetters.page`, or the same made of `list`: of letters without their tenants. Throws `OPTION` as it does. */
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
    // Others may have died in the same millisecond as the last one, and they would belong before it.
    const from = isWhole ? -Infinity : listed.at(-1)!.diedAt + 1;
    const found = listed
      .filter(({ diedAt, id }) => diedAt >= from && (diedAt < before || (diedAt === before && id < idBefore)))
      .sort((a, b) => b.diedAt - a.diedAt || (a.id < b.id ? 1 : -1));
    if (!isWhole && found.length <= max) continue;
    const { shown, next } = pageOf(found, max, ({ diedAt, id }) => [diedAt, id]);
    return { letters: shown.map((letter) => summaryOf(letter, null)), next };
  }
}

/** `DeadLetters.get`, or the same found in `list`. */
export async function getDeadLetter(deadLetters: DeadLetters, id: string): Promise<DeadLetter | null> {
  if (deadLetters.get) return deadLetters.get(id);
  for (let max = firstMax; ; max *= 2) {
    const listed = await deadLetters.list({ max });
    const letter = listed.find((one) => one.id === id);
    if (letter || listed.length < max) return letter ?? null;
  }
}
