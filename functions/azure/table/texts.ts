/** Named texts in the table, with compare-and-swap. Keys, steps, limits, batches and heartbeats are built on them. */

import { randomUUID } from 'node:crypto';
import { withoutSeparators } from '../../../core/base/json.ts';
import type { NamedText, StoredText, TextRange, TextStore, TextWrite } from '../../../core/contract/texts.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { endOf, type StoredKey } from '../../../core/kit/records/keys.ts';
import { momentText, sortable, sortableRange } from '../../../core/kit/records/sortable.ts';
import { type Kind, kindsOf, rankAmong } from '../../../core/kit/texts/kinds.ts';
import {
  keyPartitions,
  limitPartitions,
  safe,
  shardIn,
  stepPartitions,
  textOf,
  textProperties,
} from './layout.ts';
import type { Found, Step, Table, TableApi } from './sdk.ts';

/** A write over any version can lose a race, and is then repeated. */
const mostTries = 20;
/** The version of a text whose etag was not answered: it must be read before the next write. */
const unread = 'unread';

interface Place {
  /** Prefix of the rows, in place of the prefix of the names. */
  readonly row: string;
  readonly partitions: readonly string[];
  /** Whether these are listed: then the row also has the name. */
  readonly listed: boolean;
}

const kinds = kindsOf<Place>({
  keys: { row: 'key:', partitions: keyPartitions, listed: false },
  limits: { row: 'limit:', partitions: limitPartitions, listed: true },
  batches: { row: 'batch:', partitions: limitPartitions, listed: true },
  others: { row: 'text:', partitions: stepPartitions, listed: true },
  steps: { row: 'step:', partitions: stepPartitions, listed: false },
});

interface Version {
  readonly etag: string;
  /** The row with the time of the next look. */
  readonly look: string;
}

function placeOf(name: string): { readonly partition: string; readonly row: string } {
  const { begin, row, partitions } = kinds.of(name);
  const rest = name.slice(begin.length);
  const place = partitions === keyPartitions ? safe(rest) : sortable(rest);
  return { partition: shardIn(partitions, rest), row: row + place };
}

/** Rows of keys have their expiry only in the text. */
function propertiesOf(name: string, endsAt: number): Record<string, string> {
  const { begin, partitions, listed } = kinds.of(name);
  if (partitions === keyPartitions) return {};
  const ends = momentText(endsAt);
  return listed ? { ends, name: withoutSeparators(JSON.stringify(name.slice(begin.length))) } : { ends };
}

const endsAtOf = (found: Found): number =>
  found.ends === undefined ? endOf(JSON.parse(textOf(found)) as StoredKey) : Number(found.ends);

const lookAt = (at: number): string => `look:${momentText(at)}:${randomUUID()}`;

const versionOf = (version: Version): string => JSON.stringify(version);

async function read(api: TableApi, name: string): Promise<StoredText | null> {
  const { partition, row } = placeOf(name);
  const found = await api.get(partition, row);
  return found && storedOf(found);
}

function storedOf(found: Found): StoredText {
  return { text: textOf(found), version: versionOf({ etag: found.etag, look: found.look! }) };
}

/** Resolves with the new version; `null` = another writer was first. @param over the version that was read; `null` = there must be none */
async function write(
  api: TableApi,
  { name, text, endsAt }: TextWrite,
  over: string | null,
): Promise<string | null> {
  const { partition, row } = placeOf(name);
  const end = endsAt ?? Number.MAX_SAFE_INTEGER;
  const { etag, look } = over === null ? { etag: null, look: lookAt(end) } : (JSON.parse(over) as Version);
  const properties = { ...propertiesOf(name, end), ...textProperties(withoutSeparators(text)) };
  const entity = { partitionKey: partition, rowKey: row, look, ...properties };
  // A later end is one write: the look row stays, and a purge that reads it too early moves it.
  const steps: Step[] =
    etag !== null
      ? [{ update: entity, over: etag }]
      : [{ create: entity }, { create: { partitionKey: partition, rowKey: look, key: row } }];
  const written = await api.commitAndTell(partition, steps);
  if (!written.done) return null;
  return written.answer === undefined ? unread : versionOf({ etag: written.answer, look });
}

async function remove(api: TableApi, name: string, version: string): Promise<boolean> {
  const { partition, row } = placeOf(name);
  const { etag, look } = JSON.parse(version) as Version;
  if (!(await api.remove(partition, row, etag))) return false;
  await api.remove(partition, look); // a purge removes a leftover one
  return true;
}

export function tableTexts(table: Table): TextStore {
  /** The answers are in the order of the texts. @param work `null` = another writer was first; called again if any version will do */
  async function each<T extends { readonly name: string; readonly ifVersion?: string | null }, R>(
    during: string,
    texts: readonly T[],
    work: (api: TableApi, text: T, version: string | null) => Promise<R | null>,
  ): Promise<(R | null)[]> {
    const answers: (R | null)[] = [];
    async function one(api: TableApi, text: T): Promise<R | null> {
      const { name, ifVersion } = text;
      // A version that this store made is JSON.
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
    // An entity may have 1 MB with two bytes per character; in UTF-8 a character has at least one byte.
    mostBytes: 450_000,
    pauseMs: 10,
    read: (names) =>
      table.call('reading texts', async (api) => {
        const found: (StoredText | null)[] = [];
        await forEach(names.entries(), async ([i, name]) => {
          found[i] = await read(api, name);
        });
        return found;
      }),
    write: (texts) => each('writing texts', texts, write),
    async remove(texts) {
      const answers = await each('removing texts', texts, async (api, { name }, version) => {
        if (version === null) return 'none';
        return (await remove(api, name, version)) ? 'removed' : null;
      });
      return answers.map((answer) => answer === 'removed');
    },
    list: (range) =>
      table.call('listing texts', (api) => kinds.list(range, (kind) => listOf(api, kind, range))),
  };
}

/** Sorts after all rows of a kind. */
const behind = '\u{fffd}';

async function listOf(api: TableApi, kind: Kind<Place>, range: TextRange): Promise<NamedText[]> {
  const { prefix, after, before, max } = range;
  const { from, to } = sortableRange(prefix.slice(kind.begin.length));
  const rank = before === undefined ? to : rankAmong(kind, before, behind);
  const end = rank < to ? rank : to;
  const found: NamedText[] = [];
  for (let last = after === undefined ? '' : rankAmong(kind, after, behind); found.length < max; ) {
    // A space sorts before all characters that can follow in a row's key.
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
      // Long names are shortened in the row's key, so check the prefix.
      if (name.startsWith(prefix)) found.push({ name, ...storedOf(row) });
    }
    if (page.length < ask.max) break;
    last = page.at(-1)!.rowKey.slice(kind.row.length);
  }
  return found;
}

/** The most rows of a partition that one purge call reads. */
const stepSize = 100;

/** Removes expired texts; returns how many. Bounded. Table storage has no expiry, so each text has a row with the time of the next look. */
export async function purgeTexts(table: Table, now: number): Promise<number> {
  let count = 0;
  await table.call('purging', (api) =>
    forEach([...keyPartitions, ...limitPartitions, ...stepPartitions], async (partition) => {
      const range = { partition, from: 'look:', to: `look:${momentText(now + 1)}`, max: stepSize };
      for (const look of await api.range(range)) if (await lookInto(api, look, now)) count++;
    }),
  );
  return count;
}

/** `true` = the row had expired and was removed. */
async function lookInto(api: TableApi, look: Found, now: number): Promise<boolean> {
  const { partitionKey, rowKey, key: row } = look;
  const found = await api.get(partitionKey, row!);
  const isMine = found?.look === rowKey;
  if (found && isMine && endsAtOf(found) > now) {
    const later = lookAt(endsAtOf(found));
    const { ends, name } = found;
    const properties = { ...(ends !== undefined && { ends }), ...(name !== undefined && { name }) };
    const moved = { partitionKey, rowKey: row!, look: later, ...properties };
    await api.commit(partitionKey, [
      { update: { ...moved, ...textProperties(textOf(found)) }, over: found.etag },
      { create: { partitionKey, rowKey: later, key: row! } },
      { remove: rowKey },
    ]);
    return false;
  }
  // If the row is gone or has another look row by now, only this look row is removed.
  if (found && isMine && !(await api.remove(partitionKey, row!, found.etag))) return false;
  await api.remove(partitionKey, rowKey);
  return isMine;
}
