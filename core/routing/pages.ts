/** Joins the pages of several backends to one. */

import type { Client } from '../kernel/enqueue/client.ts';
import { cursorOf, positionIn, wrongCursor } from '../kit/records/filter.ts';
import { askEach, labelled, missedBy, type OfOne, type OfSeveral } from './each.ts';

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

type JoinedPage<Row> = Page<OfOne<Row>> & OfSeveral;

export interface PageRequest {
  readonly max?: number;
  readonly after?: string;
}

/** Newest first. The next page goes on where the page of each backend ended. A backend that was away begins with its newest row. */
export async function newestOf<Row extends object>(
  clients: readonly Client[],
  { max = 100, after }: PageRequest,
  pageOf: (client: Client, page: PageRequest & { readonly max: number }) => Promise<Page<Row>>,
  timeOf: (row: Row) => number,
): Promise<JoinedPage<Row>> {
  const [only] = clients;
  if (only && clients.length === 1) {
    const { rows, next } = await pageOf(only, { max, ...(after !== undefined && { after }) });
    return { rows: labelled(only, rows), next };
  }
  const places = placesIn(after);
  const read = async (client: Client, most: number) => {
    const place = places[client.name!];
    return pageOf(client, { max: most, ...(place && { after: place }) });
  };
  const open = clients.filter(({ name }) => places[name!] !== null);
  const first = await askEach(open, (client) => read(client, max));
  const all = first.answers.flatMap(({ answer }) => answer.rows);
  const newest = new Set(all.toSorted((a, b) => timeOf(b) - timeOf(a)).slice(0, max));
  const pages = new Map(first.answers.map(({ client, answer }) => [client, answer]));
  // If only some rows of a page are shown, a shorter page gives the place of the next one.
  const second = await askEach([...pages.keys()], async (client) => {
    const page = pages.get(client)!;
    const wanted = page.rows.filter((row) => newest.has(row)).length;
    if (wanted === 0 && page.rows.length > 0) return null;
    return wanted === page.rows.length ? page : read(client, wanted);
  });
  const rows: OfOne<Row>[] = [];
  for (const { client, answer } of second.answers) {
    if (answer === null) continue;
    rows.push(...labelled(client, answer.rows));
    places[client.name!] = answer.next;
  }
  const missed = missedBy(first, second);
  const isAway = (name: string) => missed.unavailable?.some(({ backend }) => backend === name);
  const isOver = clients.every(({ name }) => places[name!] === null || isAway(name!));
  return {
    rows: rows.sort((a, b) => timeOf(b) - timeOf(a)),
    next: isOver ? null : cursorOf(JSON.stringify(places)),
    ...missed,
  };
}

/** The place of the next page on each backend: `null` = no more rows, missing = start at the newest. */
function placesIn(after: string | undefined): Record<string, string | null> {
  if (after === undefined) return {};
  const [text] = positionIn(after, 'string');
  try {
    const places: unknown = JSON.parse(text);
    if (typeof places === 'object' && places !== null) return { ...places };
  } catch {
    // Not JSON: refused below.
  }
  throw wrongCursor(after);
}

/**
 * Sorted by key. The pages of the backends end at different keys, and the joined page ends at the smallest of them.
 * @param max most rows of the joined page; their keys differ
 */
export async function sortedOf<Row extends object>(
  clients: readonly Client[],
  pageOf: (client: Client) => Promise<Page<Row>>,
  keyOf: (row: Row) => string,
  max = Infinity,
): Promise<JoinedPage<Row>> {
  const { answers, ...missed } = await askEach(clients, pageOf);
  const [end = null] = answers.flatMap(({ answer }) => answer.next ?? []).sort();
  const rows = answers
    .flatMap(({ client, answer }) => labelled(client, answer.rows))
    .filter((row) => end === null || keyOf(row) <= end)
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0));
  const shown = rows.slice(0, max);
  return { rows: shown, next: rows.length > shown.length ? keyOf(shown.at(-1)!) : end, ...missed };
}
