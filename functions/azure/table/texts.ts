/** Texts by name in the table, which can compare and swap: what steps, limits, batches and heartbeats are made of. */

import { withoutSeparators } from '../../../core/base/json.ts';
import type { NamedText, TextRange, TextStore, TextWrite } from '../../../core/contract/texts.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { momentText, sortable, sortableRange } from '../../../core/kit/records/sortable.ts';
import { type Kind, kindsOf, rankAmong } from '../../../core/kit/texts/kinds.ts';
import type { Table } from './api.ts';
import { type Expiring, purgeExpired, readExpiring, removeExpiring, writeExpiring } from './expiry.ts';
import { limitPartitions, shardIn, stepPartitions, textOf } from './layout.ts';
import type { Found, TableApi } from './sdk.ts';

/** A write whatever is there loses a race now and then, and is sent again. */
const mostTries = 20;
/** A transaction does not answer with the version that it made: the text has to be read before it can be written over. */
const unread = 'unread';

interface Place {
  /** What rows have in place of what the names begin with. */
  readonly row: string;
  readonly partitions: readonly string[];
}

const kinds = kindsOf<Place>({
  limits: { row: 'limit:', partitions: limitPartitions },
  batches: { row: 'batch:', partitions: limitPartitions },
  others: { row: 'text:', partitions: stepPartitions },
  steps: { row: 'step:', partitions: stepPartitions },
});

function placeOf(name: string): { readonly partition: string; readonly row: string } {
  const { begin, row, partitions } = kinds.of(name);
  const rest = name.slice(begin.length);
  return { partition: shardIn(partitions, rest), row: row + sortable(rest) };
}

function entityOf({ name, text, endsAt }: TextWrite): Expiring {
  const kind = kinds.of(name);
  const end = endsAt ?? Number.MAX_SAFE_INTEGER;
  const listed = { name: withoutSeparators(JSON.stringify(name.slice(kind.begin.length))) };
  const properties = { ends: momentText(end), ...(kind !== kinds.steps && listed) };
  return { ...placeOf(name), text: withoutSeparators(text), endsAt: end, properties };
}

function expiringOf(found: Found): Expiring {
  const { partitionKey: partition, rowKey: row, ends, name } = found;
  const properties = { ends: ends!, ...(name !== undefined && { name }) };
  return { partition, row, text: textOf(found), endsAt: Number(ends), properties };
}

export function tableTexts(table: Table): TextStore {
  const read = (api: TableApi, name: string) => {
    const { partition, row } = placeOf(name);
    return readExpiring(api, partition, row);
  };

  /** Answers in the order of the texts. @param work `null` = another writer was first; asked again if any version will do */
  async function each<T extends { readonly name: string; readonly ifVersion?: string | null }, R>(
    during: string,
    texts: readonly T[],
    work: (api: TableApi, text: T, version: string | null) => Promise<R | null>,
  ): Promise<(R | null)[]> {
    const answers: (R | null)[] = [];
    async function one(api: TableApi, text: T): Promise<R | null> {
      const { name, ifVersion } = text;
      // Versions are ours: JSON.
      if (ifVersion !== undefined)
        return ifVersion === null || ifVersion.startsWith('{') ? work(api, text, ifVersion) : null;
      for (let tries = 0; tries < mostTries; tries++) {
        const answer = await work(api, text, (await read(api, name))?.version ?? null);
        if (answer !== null) return answer;
      }
      throw new Error(`lost ${mostTries} races for the same text`);
    }
    await table.call(during, (api) =>
      forEach(texts.entries(), async ([i, text]) => {
        answers[i] = await one(api, text);
      }),
    );
    return answers;
  }

  return {
    // An entity holds 1 MB with two bytes for each letter, and a letter has a byte or more in UTF-8.
    mostBytes: 450_000,
    pauseMs: 10,
    read: (names) =>
      table.call('reading texts', async (api) => {
        const found: (Awaited<ReturnType<typeof read>> | null)[] = [];
        await forEach(names.entries(), async ([i, name]) => {
          found[i] = await read(api, name);
        });
        return found;
      }),
    write: (texts) =>
      each('writing texts', texts, async (api, text, version) =>
        (await writeExpiring(api, entityOf(text), version)) ? unread : null,
      ),
    async remove(texts) {
      const answers = await each('removing texts', texts, async (api, { name }, version) => {
        if (version === null) return 'none';
        const { partition, row } = placeOf(name);
        return (await removeExpiring(api, partition, row, version)) ? 'removed' : null;
      });
      return answers.map((answer) => answer === 'removed');
    },
    list: (range) =>
      table.call('listing texts', (api) => kinds.list(range, (kind) => listOf(api, kind, range))),
  };
}

/** Behind all rows of a kind. */
const behind = '\u{fffd}';

async function listOf(api: TableApi, kind: Kind<Place>, range: TextRange): Promise<NamedText[]> {
  const { prefix, after, before, max } = range;
  const { from, to } = sortableRange(prefix.slice(kind.begin.length));
  const rank = before === undefined ? to : rankAmong(kind, before, behind);
  const end = rank < to ? rank : to;
  const found: NamedText[] = [];
  for (let last = after === undefined ? '' : rankAmong(kind, after, behind); found.length < max; ) {
    // A space comes before all that a row's key may go on with.
    const first = last >= from && last !== '' ? `${last} ` : from;
    if (first >= end) break;
    const ask = { from: kind.row + first, to: kind.row + end, max: max - found.length };
    const pages = await Promise.all(kind.partitions.map((partition) => api.range({ ...ask, partition })));
    const page = pages
      .flat()
      .sort((a, b) => (a.rowKey < b.rowKey ? -1 : 1))
      .slice(0, ask.max);
    for (const row of page) {
      const name = kind.begin + (JSON.parse(row.name!) as string);
      const version = JSON.stringify({ etag: row.etag, look: row.look! });
      // Names that begin with a very long text alike are among them, too.
      if (name.startsWith(prefix)) found.push({ name, text: textOf(row), version });
    }
    if (page.length < ask.max) break;
    last = page.at(-1)!.rowKey.slice(kind.row.length);
  }
  return found;
}

/** Removes what is past its time; returns how many. Bounded. */
export const purgeTexts = (table: Table, now: number): Promise<number> =>
  purgeExpired(table, [...limitPartitions, ...stepPartitions], expiringOf, now);
