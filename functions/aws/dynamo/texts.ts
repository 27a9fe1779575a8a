/** Texts by name in the table, which can compare and swap: what all stores but keys and records are made of. */

import { randomUUID } from 'node:crypto';
import type { NamedText, TextRange, TextStore, TextWrite } from '../../../core/contract/texts.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { shardOf } from '../../../core/kit/records/partitions.ts';
import { sortable, sortableRange } from '../../../core/kit/records/sortable.ts';
import type { Dynamo } from './api.ts';
import type { DynamoApi, Item } from './sdk.ts';
import { expiry } from './sort-keys.ts';
import { partitionKey, sortKey } from './table.ts';

const shards = 8;
const longestPage = 1_000;

interface Kind {
  /** What names of the kind begin with, and what the keys of their items have in its place. */
  readonly begin: string;
  readonly pk: string;
  readonly shelf: string;
}

/** Items of steps, limits and batches are where version 0.1.0 has put them. */
const kinds: readonly Kind[] = [
  { begin: 'limit/', pk: 'limit#', shelf: 'limits' },
  { begin: 'batch/', pk: 'batch#', shelf: 'batches' },
  { begin: '', pk: 'text#', shelf: 'texts' },
];
const steps: Kind = { begin: '', pk: 'step#', shelf: '' };
/** Nobody lists these, and an index entry costs as much as the item. */
const unlisted = /^(job:|event:|result:|limit\/h|batch\/[^lo]|audit-id\/)/;

const kindOf = (name: string): Kind =>
  /^(job|event|result):/.test(name) ? steps : kinds.find(({ begin }) => name.startsWith(begin))!;
function pkOf(name: string): string {
  const { begin, pk } = kindOf(name);
  return pk + name.slice(begin.length);
}

function itemOf({ name, text, endsAt }: TextWrite, version: string): Item {
  const { begin, shelf } = kindOf(name);
  const rest = name.slice(begin.length);
  return {
    ...{ pk: pkOf(name), version, state: text, expiresAt: endsAt === null ? null : expiry(endsAt) },
    ...(!unlisted.test(name) && {
      [partitionKey]: `${shelf}#${shardOf(rest, shards)}`,
      [sortKey]: sortable(rest),
    }),
  };
}

const textOf = ({ state, version }: Item) => ({ text: state as string, version: version as string });

export function dynamoTexts(dynamo: Dynamo): TextStore {
  /** Answers in the order of the texts. */
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
    /** An item holds 400 KB at most. */
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
      dynamo.call('listing texts', async (api) => {
        // A beginning of one kind is of no other.
        const own = kinds.find(({ begin }) => begin !== '' && range.prefix.startsWith(begin));
        const asked = own
          ? [own]
          : kinds.filter(({ begin }) => begin === '' || begin.startsWith(range.prefix));
        const pages = await Promise.all(asked.map((kind) => listOf(api, kind, range)));
        return pages
          .flat()
          .sort((a, b) => (a.name < b.name ? -1 : 1))
          .slice(0, range.max);
      }),
  };
}

/** Where a name stands among the places of a kind. */
function placeOf({ begin }: Kind, name: string): string {
  if (name.startsWith(begin)) return sortable(name.slice(begin.length));
  return name < begin ? '' : '\u{10ffff}';
}

async function listOf(api: DynamoApi, kind: Kind, range: TextRange): Promise<NamedText[]> {
  const { prefix, after, before, containing, max } = range;
  const { from, to } = sortableRange(prefix.slice(kind.begin.length));
  const end = before === undefined ? to : placeOf(kind, before);
  const found: NamedText[] = [];
  for (let last = after === undefined ? '' : placeOf(kind, after); found.length < max; ) {
    const most = containing === undefined ? Math.min(longestPage, max - found.length) : longestPage;
    const ask = { from: last > from ? last : from, to, max: most + 1, forward: true };
    if (ask.from > to) break;
    const page = await Promise.all(
      Array.from({ length: shards }, (_, shard) =>
        api.query({ ...ask, partition: `${kind.shelf}#${shard}` }),
      ),
    );
    const next = page
      .flat()
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
    // The index lags behind the table: what is gone meanwhile is left out.
    for (const { pk, name } of wanted) {
      const text = texts.get(pk);
      if (text) found.push({ name, ...text });
    }
    if (next.length < most) break;
    last = next.at(-1)!.place;
  }
  return found.slice(0, max);
}
