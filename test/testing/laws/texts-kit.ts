/** Shared by the laws of texts. */

import assert from 'node:assert/strict';
import type { NamedText, TextRange, TextStore, TextWrite } from '../../../core/contract/texts.ts';
import type { Kit } from './kit.ts';

/** The store of every opening of the storage; at least two, so that races have two sides. */
export function textsOf(t: Kit): [TextStore, TextStore, ...TextStore[]] {
  const all = t.openings.map(({ name, stores }) => {
    assert.ok(stores?.texts, `the stores of "${name}" have no texts`);
    return stores.texts;
  });
  return [all[0]!, all[1] ?? all[0]!, ...all.slice(2)];
}

export async function readOne(texts: TextStore, name: string) {
  const [found, ...rest] = await texts.read([name]);
  assert.equal(rest.length, 0);
  return found ?? null;
}

/** Writes a text, by default over an existing one. */
export async function put(texts: TextStore, name: string, text: string, how: Partial<TextWrite> = {}) {
  const [version, ...rest] = await texts.write([{ name, text, endsAt: null, ...how }]);
  assert.equal(rest.length, 0);
  return version ?? null;
}

export const named = (names: readonly string[], text = '"x"') =>
  names.map((name) => ({ name, text, endsAt: null }) satisfies TextWrite);

/** All pages, followed from name to name. */
export async function listAll(
  texts: TextStore,
  range: TextRange,
  between: () => Promise<unknown> = async () => {},
) {
  const found: NamedText[] = [];
  for (let { after } = range; ; after = found.at(-1)!.name) {
    const page = await texts.list({ ...range, ...(after !== undefined && { after }) });
    assert.ok(page.length <= range.max);
    found.push(...page);
    if (page.length < range.max) return found;
    await between();
  }
}

export const namesOf = (texts: readonly NamedText[]): string[] => texts.map(({ name }) => name);
