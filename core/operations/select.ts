/** Finds dead letters, page by page without their texts, each one once. */

import { crypto } from '../base/crypto.ts';
import type { DeadLetter, DeadLetterSummary, DeadLetters } from '../contract/admin.ts';
import type { Envelope } from '../envelope/envelope.ts';
import type { App } from '../kernel/app/app.ts';
import { deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import { verified } from '../kernel/enqueue/anew.ts';
import { eachOf } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { firstMax, pageOfDeadLetters, summaryOf } from '../kit/records/dead-letter-pages.ts';
import { orFirst } from '../routing/each.ts';
import { newestOf, type PageRequest } from '../routing/pages.ts';
import type { DeadLetterFilter, DeadLetterItem, DeadLetterItems } from './types.ts';

const pageSize = 500;
/** A filtered page reads at most this many letters. */
const mostLooked = 5_000;

export const itemOf = (letter: DeadLetterSummary): DeadLetterItem => ({
  ...letter,
  fingerprint: fingerprintOf(letter),
});

/** The letters that match. The fingerprint is computed only for these. */
export const matching = (letters: readonly DeadLetterSummary[], filter: DeadLetterFilter): DeadLetterItem[] =>
  letters
    .filter((letter) => matches(letter, filter))
    .map(itemOf)
    .filter(({ fingerprint }) => (filter.fingerprint ?? fingerprint) === fingerprint);

const equal = ['queue', 'job', 'reason', 'tenantId'] as const;

function matches(letter: DeadLetterSummary, filter: DeadLetterFilter): boolean {
  const { diedFrom = -Infinity, diedBefore = Infinity, error } = filter;
  return (
    equal.every((name) => filter[name] === undefined || letter[name] === filter[name]) &&
    letter.diedAt >= diedFrom &&
    letter.diedAt < diedBefore &&
    (error === undefined || letter.error.includes(error))
  );
}

/** Whether the filter has more than a queue. The counts of the queues do not help then. */
export const isNarrow = ({ queue: _, ...filter }: DeadLetterFilter): boolean =>
  Object.values(filter).some((one) => one !== undefined);

export const queueOf = ({ queue }: DeadLetterFilter): { readonly queue?: string } =>
  queue === undefined ? {} : { queue };

interface Selected {
  readonly app: App;
  readonly deadLetters: DeadLetters;
}

/** The clients of all backends with an admin API. */
export const administered = (client: Client): readonly Client[] =>
  orFirst(
    client,
    eachOf(client).filter(({ backend }) => backend.admin),
  );

export const selectedIn = (client: Client): Selected => ({
  app: client.app,
  deadLetters: deadLettersOf(client),
});

/** Dead letters of all backends, newest first. */
export async function newestItems(
  client: Client,
  filter: DeadLetterFilter,
  page: PageRequest = {},
): Promise<DeadLetterItems> {
  const pageOf = async (one: Client, asked: PageRequest) => {
    const { letters, next } = await pageOfItems(selectedIn(one), filter, asked);
    return { rows: letters, next };
  };
  const { rows: letters, ...rest } = await newestOf(
    administered(client),
    page,
    pageOf,
    ({ diedAt }) => diedAt,
  );
  return { letters, ...rest };
}

/** Newest first. */
async function pageOfItems(
  selected: Selected,
  filter: DeadLetterFilter,
  { max = 100, after }: PageRequest,
): Promise<DeadLetterItems> {
  const { deadLetters } = selected;
  if (!deadLetters.page) return pageOfListed(selected, filter, max, after);
  const letters: DeadLetterItem[] = [];
  let next = after ?? null;
  for (let looked = 0; ; ) {
    // Never reads more than fits, so no letter falls between this page and the next one.
    const wanted = Math.min(pageSize, max - letters.length);
    const at = next === null ? {} : { after: next };
    const page = await deadLetters.page({ ...queueOf(filter), ...at, max: wanted });
    letters.push(...matching(page.letters, filter));
    looked += wanted;
    next = page.next;
    // Half a page is enough: the last rows would be looked for one by one.
    if (next === null || looked >= mostLooked || letters.length * 2 >= max) return { letters, next };
  }
}

/** A broker that can only list returns everything in one call. The letters are filtered first, then cut into pages. */
async function pageOfListed(
  selected: Selected,
  filter: DeadLetterFilter,
  max: number,
  after: string | undefined,
): Promise<DeadLetterItems> {
  const found = new Map<string, DeadLetterItem>();
  const narrowed: Pick<DeadLetters, 'list'> = {
    async list({ max: wanted = firstMax, ...query }) {
      for (let listed = wanted; ; listed *= 2) {
        const all = await selected.deadLetters.list({ ...query, max: listed });
        for (const item of matching(summariesOf(selected.app, all), filter)) found.set(item.id, item);
        const letters = all.filter(({ id }) => found.has(id));
        if (all.length < listed || letters.length >= wanted) return letters.slice(0, wanted);
      }
    },
  };
  const query = { ...queueOf(filter), max, ...(after !== undefined && { after }) };
  const { letters, next } = await pageOfDeadLetters(narrowed as DeadLetters, query);
  return { letters: letters.map(({ id }) => found.get(id)!), next };
}

/** Yields every matching letter once. A letter that was retried and died again is not found a second time. */
export async function* itemsOf(
  selected: Selected,
  filter: DeadLetterFilter,
): AsyncGenerator<DeadLetterItem[]> {
  const { app, deadLetters } = selected;
  const queue = queueOf(filter);
  if (deadLetters.page) {
    // Letters that are added meanwhile are newer than the place of the next page.
    for (let next: string | null = null, isFirst = true; isFirst || next !== null; isFirst = false) {
      const at: { after?: string } = next === null ? {} : { after: next };
      const page = await deadLetters.page({ ...queue, ...at, max: pageSize });
      yield matching(page.letters, filter);
      next = page.next;
    }
    return;
  }
  const seen = new Set<string>();
  for (let max = firstMax; ; ) {
    const listed = await deadLetters.list({ ...queue, max });
    const fresh = listed.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    if (fresh.length > 0) yield matching(summariesOf(app, fresh), filter);
    else if (listed.length < max) return;
    else max *= 2; // the newest letters have died again: look behind them
  }
}

/** The tenant of a letter is only in its text. */
export const summariesOf = (app: App, letters: readonly DeadLetter[]): DeadLetterSummary[] =>
  letters.map((letter) => summaryOf(letter, envelopeIn(app, letter.body)?.context?.tenantId ?? null));

/** The envelope in a text. `null` = its signature does not verify here. */
export function envelopeIn(app: App, body: string): Envelope | null {
  try {
    return verified(app, body);
  } catch {
    return null;
  }
}

/** Only this many characters of an error are read. Varying parts are mostly behind them, and each pattern stays cheap. */
const longestRead = 1_000;
const longestCompared = 300;
const hashDigits = 12;

/** Applied in this order. No pattern nests repetitions that match the same characters, so matching takes linear time. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '#'],
  [/"[^"\n]{0,500}"|`[^`\n]{0,500}`|(?<!\w)'[^'\n]{0,500}'(?!\w)/g, '"…"'],
  [/(?:\b[a-z][a-z0-9+.-]{0,20}:\/?)?(?:[/\\][\w.@%+~=:?&-]{1,200}){2,}/gi, '/…'],
  [/\b0x[0-9a-f]+\b|\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b|\b(?=[a-z_]*[0-9])\w{16,}\b/gi, '#'],
  [/[0-9]+(?:[.,:][0-9]+)*/g, '#'],
  [/\s+/g, ' '],
];

export function withoutValues(error: string): string {
  let text = error.slice(0, longestRead);
  for (const [pattern, sign] of varying) text = text.replace(pattern, sign);
  return text.slice(0, longestCompared).trim();
}

/** 12 hex digits. */
export function fingerprintOf({
  job,
  reason,
  error,
}: Pick<DeadLetterSummary, 'job' | 'reason' | 'error'>): string {
  return crypto()
    .hash('sha256', JSON.stringify([job, reason, withoutValues(error)]))
    .slice(0, hashDigits);
}
