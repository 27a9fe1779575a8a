/** What is stored of a message's facts: all as JSON, and beside it what is searched for. */

import type { MessageFacts } from '../../../core/contract/outcome.ts';
import { textArray } from './arrays.ts';
import { storedKey } from './keys.ts';

export type StoredFacts = readonly [key: string | null, schedule: string | null, facts: string | null];

const nothing: StoredFacts = [null, null, null];
const storedText = (text: string | undefined): string | null => (text === undefined ? null : storedKey(text));

export function storedFacts(facts: MessageFacts | undefined): StoredFacts {
  if (!facts) return nothing;
  return [storedText(facts.idempotencyKey), storedText(facts.schedule), JSON.stringify(facts)];
}

/** An array of each, or `null` for each where no message has any. */
export function factArrays(messages: readonly { readonly facts?: MessageFacts }[]): (Buffer | null)[] {
  if (!messages.some(({ facts }) => facts)) return [null, null, null];
  const all = messages.map(({ facts }) => storedFacts(facts));
  return [0, 1, 2].map((i) => textArray(all.map((one) => one[i]!)));
}
