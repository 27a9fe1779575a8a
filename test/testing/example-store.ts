/**
 * The store of the example: keys, records and texts, on which the kit builds all other stores. A queue without records reports each
 * step of a job to a separate store. In a queue with records, the records are part of its jobs.
 */

import type { Clock } from '../../core/base/clock.ts';
import type { Retention, Stores } from '../../core/contract/store.ts';
import type { NamedText, TextStore } from '../../core/contract/texts.ts';
import { listedOf, matches, pageOf, positionIn } from '../../core/kit/records/filter.ts';
import { endOf, type KeyTable, keyStore, type StoredKey } from '../../core/kit/records/keys.ts';
import type { RecordRow } from '../../core/kit/records/row.ts';
import { isShown, type RecordTable, recordStore } from '../../core/kit/records/store.ts';
import { storesOf } from '../../core/kit/texts/stores.ts';

export interface ExampleStoreOptions {
  readonly clock: Clock;
  readonly retention?: Partial<Retention>;
}

/** A row of every table of records. `seq` orders records that were created at the same time. */
export interface Recorded {
  readonly record: RecordRow;
  readonly seq: number;
}

export function exampleStore(options: ExampleStoreOptions): Stores {
  const rows = versions<Recorded>();
  let added = 0;
  const write = (record: RecordRow, old: Recorded | undefined) =>
    rows.put(record.id, { record, seq: old?.seq ?? ++added });
  return exampleStores(options, rows, write, true);
}

/**
 * @param write stores a new or changed record
 * @param isBeside whether the store is separate: the queue may then still report a job whose record has expired
 */
export function exampleStores<Row extends Recorded>(
  { clock, retention }: ExampleStoreOptions,
  rows: Versions<Row>,
  write: (record: RecordRow, old: Row | undefined) => unknown,
  isBeside: boolean,
): Stores {
  const keys = versions<StoredKey>();
  const texts = versions<Text>();
  const purgeOthers = (now: number): number =>
    keys.removeIf((key) => endOf(key) <= now) +
    texts.removeIf(({ endsAt }) => endsAt !== null && endsAt <= now);
  const table: RecordTable = {
    async add(fresh) {
      for (const record of fresh) if (!rows.get(record.id)) write(record, undefined);
    },
    async read(ids) {
      return ids.flatMap((id) => {
        const found = rows.get(id);
        return found ? { row: found.row.record, version: found.version } : [];
      });
    },
    async write(record, over) {
      const found = rows.get(record.id);
      if ((found?.version ?? null) !== over) return false;
      write(record, found?.row);
      return true;
    },
    async page({ after, ...filter }, max, past) {
      const [before, beforeSeq] = after === undefined ? [Infinity, 0] : positionIn(after, 'number', 'number');
      const found = rows
        .all()
        .map(([, { row }]) => row)
        .filter(
          ({ record: { createdAt }, seq }) => createdAt < before || (createdAt === before && seq < beforeSeq),
        )
        .filter(({ record }) => isShown(record, past) && matches(listedOf(record), filter))
        .sort((a, b) => b.record.createdAt - a.record.createdAt || b.seq - a.seq);
      const { shown, next } = pageOf(found, max, ({ record, seq }) => [record.createdAt, seq]);
      return { rows: shown.map(({ record }) => record), next };
    },
    purge: async (past, now) =>
      purgeOthers(now) +
      rows.removeIf(({ record }) => !isShown(record, past) && !(isBeside && record.guardedUntil > now)),
  };
  return {
    keys: keyStore(keyTable(keys), clock),
    records: recordStore(table, { clock, retention }),
    ...storesOf(textStore(texts), clock),
  };
}

/** A table with versions: if two writers have read the same version of a row, only one succeeds. */
export type Versions<Row> = ReturnType<typeof versions<Row>>;

export function versions<Row>() {
  const rows = new Map<string, { readonly row: Row; readonly version: string }>();
  let writes = 0;
  const isAt = (name: string, version: string | null | undefined): boolean =>
    version === undefined || version === (rows.get(name)?.version ?? null);
  return {
    get: (name: string) => rows.get(name) ?? null,
    all: () => [...rows],
    /** @param over the version that was read; `null` = the row must not exist, absent = any version */
    put(name: string, row: Row, over?: string | null): string | null {
      if (!isAt(name, over)) return null;
      const version = `${++writes}`;
      rows.set(name, { row, version });
      return version;
    },
    remove: (name: string, over?: string): boolean => isAt(name, over) && rows.delete(name),
    /** Returns the number of removed rows. */
    removeIf(isOver: (row: Row) => boolean): number {
      const over = [...rows].filter(([, { row }]) => isOver(row));
      for (const [name] of over) rows.delete(name);
      return over.length;
    },
  };
}

interface Text {
  readonly text: string;
  readonly endsAt: number | null;
}

/** These four methods store steps, schedules, metrics, the audit log, heartbeats, limits and batches. */
function textStore(rows: Versions<Text>): TextStore {
  return {
    read: async (names) =>
      names.map((name) => {
        const found = rows.get(name);
        return found && { text: found.row.text, version: found.version };
      }),
    write: async (texts) =>
      texts.map(({ name, text, endsAt, ifVersion }) => rows.put(name, { text, endsAt }, ifVersion)),
    remove: async (texts) => texts.map(({ name, ifVersion }) => rows.remove(name, ifVersion)),
    async list({ prefix, after = '', before, max }) {
      const isWanted = (name: string): boolean =>
        name.startsWith(prefix) && name > after && (before === undefined || name < before);
      return rows
        .all()
        .filter(([name]) => isWanted(name))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .slice(0, max)
        .map(([name, { row, version }]): NamedText => ({ name, text: row.text, version }));
    },
  };
}

const keyTable = (rows: Versions<StoredKey>): KeyTable => ({
  async read(key) {
    const found = rows.get(key);
    return found && { stored: found.row, version: found.version };
  },
  write: async (key, stored, over) => rows.put(key, stored, over) !== null,
  remove: async (key, version) => rows.remove(key, version),
});
