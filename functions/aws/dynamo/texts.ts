/** Named texts in the table, with compare-and-swap. All stores but the records are built on them. */

import { randomUUID } from 'node:crypto';
import type { NamedText, TextRange, TextStore, TextWrite } from '../../../core/contract/texts.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { shardOf } from '../../../core/kit/records/partitions.ts';
import { sortable, sortableRange } from '../../../core/kit/records/sortable.ts';
import { type Kind, kindsOf, rankAmong } from '../../../core/kit/texts/kinds.ts';
import type { Dynamo, DynamoApi, Item } from './sdk.ts';
import { expiry, partitionKey, sortKey } from './table.ts';

const shards = 8;
const longestPage = 1_000;

interface Place {
  /** Prefix of the items' keys, in place of the prefix of the names. */
  readonly pk: string;
  readonly shelf: string;
  /** The attribute that holds the text. */
  readonly text: 'state' | 'key';
}

const kinds = kindsOf<Place>({
  keys: { pk: 'key#', shelf: '', text: 'key' },
  limits: { pk: 'limit#', shelf: 'limits', text: 'state' },
  batches: { pk: 'batch#', shelf: 'batches', text: 'state' },
  others: { pk: 'text#', shelf: 'texts', text: 'state' },
  steps: { pk: 'step#', shelf: '', text: 'state' },
});
/** These are never listed, and an index entry costs as much as the item. */
const unlisted = /^(key\/|job:|piece:|event:|result:|limit\/h|batch\/[^lo]|audit-id\/)/;

function pkOf(name: string): string {
  const { begin, pk } = kinds.of(name);
  return pk + name.slice(begin.length);
}

function itemOf({ name, text, endsAt }: TextWrite, version: string): Item {
  const { begin, shelf, text: attribute } = kinds.of(name);
  const rest = name.slice(begin.length);
  return {
    ...{ pk: pkOf(name), version, [attribute]: text, expiresAt: endsAt === null ? null : expiry(endsAt) },
    ...(!unlisted.test(name) && {
      [partitionKey]: `${shelf}#${shardOf(rest, shards)}`,
      [sortKey]: sortable(rest),
    }),
  };
}

const textOf = ({ state, key = null, version }: Item) => {
  return { text: (state ?? key) as string, version: version as string };
};

export function dynamoTexts(dynamo: Dynamo): TextStore {
  /** The answers are in the order of the texts. */
  async function each<T, R>(
    during: string,
    texts: readonly T[],
    work: (api: DynamoApi, text: T) => Promise<R>,
  ): Promise<R[]> {
    const answers: R[] = [];
    await dynamo.call(during, (api) =>
      forEach(texts.entries(), async ([i, text]) => {
        answers[i] = await work(api, text);
      }),
    );
    return answers;
  }

  return {
    /** An item may have 400 KB. */
    mostBytes: 380_000,
    pauseMs: 10,
    expires: true,
    async read(names) {
      if (names.length === 0) return [];
      const items = await dynamo.call('reading texts', (api) => api.read(names.map(pkOf)));
      const found = new Map(items.map((item) => [item.pk, textOf(item)]));
      return names.map((name) => found.get(pkOf(name)) ?? null);
    },
    write: (texts) =>
      each('writing texts', texts, async (api, text) => {
        const version = randomUUID();
        return (await api.write(itemOf(text, version), text.ifVersion)) ? version : null;
      }),
    remove: (texts) =>
      each('removing texts', texts, (api, { name, ifVersion }) =>
        api.remove(pkOf(name), ifVersion ?? { there: true }),
      ),
    list: (range) =>
      dynamo.call('listing texts', (api) => kinds.list(range, (kind) => listOf(api, kind, range))),
  };
}

/** Sorts after all names of a kind. */
const behind = '\u{10ffff}';

async function listOf(api: DynamoApi, kind: Kind<Place>, range: TextRange): Promise<NamedText[]> {
  const { prefix, after, before, containing, max } = range;
  const { from, to } = sortableRange(prefix.slice(kind.begin.length));
  const end = before === undefined ? to : rankAmong(kind, before, behind);
  const found: NamedText[] = [];
  for (let last = after === undefined ? '' : rankAmong(kind, after, behind); found.length < max; ) {
    const most = containing === undefined ? Math.min(longestPage, max - found.length) : longestPage;
    const ask = { from: last > from ? last : from, to, max: most + 1, forward: true };
    if (ask.from > to) break;
    const pages = await Promise.all(
      Array.from({ length: shards }, (_, shard) =>
        api.query({ ...ask, partition: `${kind.shelf}#${shard}` }),
      ),
    );
    const next = pages
      .flatMap(({ items }) => items)
      .map(({ pk, [sortKey]: place }) => ({
        pk: pk as string,
        name: kind.begin + (pk as string).slice(kind.pk.length),
        place: place as string,
      }))
      .filter(({ place }) => place > last && place < end)
      .sort((a, b) => (a.place < b.place ? -1 : 1))
      .slice(0, most);
    const wanted = next.filter(
      ({ name }) => name.startsWith(prefix) && (containing === undefined || name.includes(containing)),
    );
    const items = wanted.length === 0 ? [] : await api.read(wanted.map(({ pk }) => pk));
    const texts = new Map(items.map((item) => [item.pk, textOf(item)]));
    // The index lags behind the table, so texts that were removed meanwhile are left out.
    for (const { pk, name } of wanted) {
      const text = texts.get(pk);
      if (text) found.push({ name, ...text });
    }
    if (next.length < most) break;
    last = next.at(-1)!.place;
  }
  return found.slice(0, max);
}
