/** Which dead letters are meant: by pages without their texts, and each once. */

import type { App } from '../app/app.ts';
import type { DeadLetter, DeadLetterSummary, DeadLetters } from '../contract/admin.ts';
import { type Envelope, readEnvelope } from '../envelope/envelope.ts';
import { forEach } from '../kit/parallel.ts';
import { pageOfDeadLetters } from '../kit/records/dead-letter-pages.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { DeadLetterFilter, DeadLetterItem, DeadLetterItems } from './types.ts';

const pageSize = 500;
/** One page of a filter looks at so many at most. */
const mostLooked = 5_000;
/** More than a broker without pages looks through in one call. */
const listSize = 10_001;
const textsAtOnce = 16;

export const itemOf = (letter: DeadLetterSummary): DeadLetterItem => ({
  ...letter,
  fingerprint: fingerprintOf(letter),
});

export function matches(letter: DeadLetterItem, filter: DeadLetterFilter): boolean {
  const { diedFrom = -Infinity, diedBefore = Infinity, error } = filter;
  return (
    equal.every((name) => filter[name] === undefined || letter[name] === filter[name]) &&
    letter.diedAt >= diedFrom &&
    letter.diedAt < diedBefore &&
    (error === undefined || letter.error.includes(error))
  );
}

const equal = ['queue', 'job', 'reason', 'tenantId', 'fingerprint'] as const;

/** Whether more than the queue is asked for, which counts cannot tell. */
export const isNarrow = ({ queue: _, ...filter }: DeadLetterFilter): boolean =>
  Object.values(filter).some((one) => one !== undefined);

const queueOf = ({ queue }: DeadLetterFilter): { readonly queue?: string } =>
  queue === undefined ? {} : { queue };

export interface Selected {
  readonly app: App;
  readonly deadLetters: DeadLetters;
}

/** Newest first. */
export async function pageOfItems(
  selected: Selected,
  filter: DeadLetterFilter,
  { max = 100, after }: { readonly max?: number; readonly after?: string } = {},
): Promise<DeadLetterItems> {
  const { deadLetters } = selected;
  if (!deadLetters.page) return pageOfListed(selected, filter, max, after);
  const letters: DeadLetterItem[] = [];
  let next = after ?? null;
  for (let looked = 0; ; ) {
    // Never more than there is room for: then no letter is between what is shown and where the next page begins.
    const wanted = Math.min(pageSize, max - letters.length);
    const at = next === null ? {} : { after: next };
    const page = await deadLetters.page({ ...queueOf(filter), ...at, max: wanted });
    letters.push(...page.letters.map(itemOf).filter((letter) => matches(letter, filter)));
    looked += wanted;
    next = page.next;
    // Half a page will do: the last free lines of a page would be looked for one by one.
    if (next === null || looked >= mostLooked || letters.length * 2 >= max) return { letters, next };
  }
}

/** A broker that can only list shows all it has in one call, so what matches is found before it is cut into pages. */
async function pageOfListed(
  selected: Selected,
  filter: DeadLetterFilter,
  max: number,
  after: string | undefined,
): Promise<DeadLetterItems> {
  const found = new Map<string, DeadLetterItem>();
  const matching: Pick<DeadLetters, 'list'> = {
    async list({ max: wanted = listSize, ...query }) {
      for (let listed = wanted; ; listed *= 2) {
        const all = await selected.deadLetters.list({ ...query, max: listed });
        const letters = all.filter((letter) => {
          const item = listedItem(selected.app, letter);
          if (!matches(item, filter)) return false;
          found.set(item.id, item);
          return true;
        });
        if (all.length < listed || letters.length >= wanted) return letters.slice(0, wanted);
      }
    },
  };
  const query = { ...queueOf(filter), max, ...(after !== undefined && { after }) };
  const { letters, next } = await pageOfDeadLetters(matching as DeadLetters, query);
  return { letters: letters.map(({ id }) => found.get(id)!), next };
}

/** Every letter that matches once: one that is run again and dies again at once must not be found for ever. */
export async function* itemsOf(
  selected: Selected,
  filter: DeadLetterFilter,
): AsyncGenerator<DeadLetterItem[]> {
  const { app, deadLetters } = selected;
  const queue = queueOf(filter);
  if (deadLetters.page) {
    // What dies meanwhile is newer than where the next page begins.
    for (let next: string | null = null, isFirst = true; isFirst || next !== null; isFirst = false) {
      const at: { after?: string } = next === null ? {} : { after: next };
      const page = await deadLetters.page({ ...queue, ...at, max: pageSize });
      yield page.letters.map(itemOf).filter((letter) => matches(letter, filter));
      next = page.next;
    }
    return;
  }
  const seen = new Set<string>();
  for (let max = listSize; ; ) {
    const listed = await deadLetters.list({ ...queue, max });
    const fresh = listed.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    if (fresh.length > 0)
      yield fresh.map((letter) => listedItem(app, letter)).filter((letter) => matches(letter, filter));
    else if (listed.length < max) return;
    else max *= 2; // the newest are those that died again: look behind them
  }
}

function listedItem(app: App, { body, ...letter }: DeadLetter): DeadLetterItem {
  const tenantId = envelopeIn(app, body)?.context?.tenantId ?? null;
  return itemOf({ ...letter, bytes: Buffer.byteLength(body), tenantId });
}

/** What a text says, if its signature verifies here. */
export function envelopeIn(app: App, body: string): Envelope | null {
  try {
    return verified(app, body);
  } catch {
    return null;
  }
}

/** Throws as `readEnvelope`. What is accepted unsigned for a while is not verified by that. */
export const verified = (app: App, body: string): Envelope =>
  readEnvelope(body, { ring: app.keyRing(), now: Infinity, maxBytes: app.maxBodyBytes });

/** With their texts, those of them that are there. */
export async function textsOf(
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
      textsAtOnce,
    );
    return found;
  }
  const wanted = new Set(ids);
  for (let max = listSize; ; max *= 2) {
    const listed = await deadLetters.list({ max });
    for (const letter of listed) if (wanted.has(letter.id)) found.set(letter.id, letter);
    if (listed.length < max || found.size === wanted.size) return found;
  }
}
