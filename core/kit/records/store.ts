/** A record store over any table that can compare and swap. The rules for all tables are in row.ts. */

import type { Clock } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { RecordFilter, RecordStore, Retention } from '../../contract/store.ts';
import { forEach } from '../parallel.ts';
import { createEndWatchers } from './end-watchers.ts';
import {
  agesFrom,
  begin,
  type Change,
  cancel,
  changed,
  end,
  isDead,
  newRow,
  type RecordRow,
  recordOf,
  retried,
  runs,
} from './row.ts';

export interface Versioned {
  readonly row: RecordRow;
  /** A new text at every write. */
  readonly version: string;
}

/** Moments in epoch ms. Rows that finished then or earlier are past their retention. */
export interface Past {
  /** For completed and cancelled jobs. */
  readonly ended: number;
  /** For failed and expired jobs. */
  readonly dead: number;
}

export type RecordQuery = Omit<RecordFilter, 'max'> & { readonly after?: string };

export interface RowPage {
  readonly rows: readonly RecordRow[];
  /** As in `RecordPage`. */
  readonly next: string | null;
}

export interface RecordTable {
  /** Adds rows. A row whose id is known stays as it is. */
  add(rows: readonly RecordRow[]): Promise<void>;
  /** In any order; unknown ids are left out. */
  read(ids: readonly string[]): Promise<Versioned[]>;
  /** As `read` of one id, for callers that do not write. Calls at the same time may share a query. @default `read` */
  find?(id: string): Promise<Versioned | undefined>;
  /** Replaces the version that was read; `null` = none was there. `false`: another writer was first, nothing changed. */
  write(row: RecordRow, over: string | null): Promise<boolean>;
  /** By `createdAt`, newest first; without rows past their retention. See `RecordStore.page`. */
  page(query: RecordQuery, max: number, past: Past): Promise<RowPage>;
  /** Removes rows past their retention that are not guarded at `now`, and expired keys; returns how many. Bounded. */
  purge(past: Past, now: number): Promise<number>;
  /** As `RecordStore.watchEnd`. Absent = only ends that this process writes are heard. */
  readonly watchEnd?: RecordStore['watchEnd'];
  /** The table itself removes rows past the store's retention. */
  readonly forgets?: boolean;
}

/** As long as the queues that keep records. */
export const defaultRetention: Retention = { completedMs: 7 * 86_400_000, deadMs: 90 * 86_400_000 };

/** Competing writers meet once or twice. After this number of lost races something else is wrong. */
const mostTries = 50;

/** Whether the row is within its retention. Older rows are not shown, even before they are removed. */
export function isShown(row: RecordRow, { ended, dead }: Past): boolean {
  const from = agesFrom(row);
  return from === null || from > (isDead(row) ? dead : ended);
}

/** @param settings `retention` defaults to `defaultRetention`, member by member */
export function recordStore(
  table: RecordTable,
  settings: { readonly clock: Clock; readonly retention: Partial<Retention> | undefined },
): RecordStore & Required<Pick<RecordStore, 'writer'>> {
  const { clock } = settings;
  const retention = { ...defaultRetention, ...settings.retention };
  const watchers = createEndWatchers();
  const past = ({ completedMs, deadMs }: Retention): Past => {
    const now = clock.now();
    return { ended: now - completedMs, dead: now - deadMs };
  };

  /** Applies `change` to the current row, and again after each lost race. */
  async function update<T>(id: string, change: (row: RecordRow | null) => Change<T>): Promise<T> {
    for (let tries = 0; tries < mostTries; tries++) {
      const [found] = await table.read([id]);
      const { row, answer } = change(found?.row ?? null);
      if (row !== null && !(await table.write(row, found?.version ?? null))) continue;
      if (row !== null && row.finishedAt !== null) watchers.tell(id);
      return answer;
    }
    throw new LongshoreError(
      'BACKEND',
      `Expected to write the record of job ${id}, lost ${mostTries} races.`,
    );
  }

  return {
    async get(id) {
      const found = table.find ? await table.find(id) : (await table.read([id]))[0];
      return found && isShown(found.row, past(retention)) ? recordOf(found.row) : null;
    },
    async page({ max = 100, ...query }) {
      const { rows, next } = await table.page(query, max, past(retention));
      return { records: rows.map(recordOf), next };
    },
    async body(id) {
      const [found] = await table.read([id]);
      return found && isShown(found.row, past(retention)) ? (found.row.body ?? null) : null;
    },
    watchEnd: table.watchEnd ?? (({ id }, look) => ({ hears: false, stop: watchers.add(id, look) })),
    progress: (id, token, progress) =>
      update(id, (row) =>
        row && runs(row, token) ? { row: { ...row, progress }, answer: true } : { row: null, answer: false },
      ),
    cancel: (id) =>
      update(id, (row) =>
        row && isShown(row, past(retention))
          ? cancel(row, clock.now())
          : { row: null, answer: 'unknown' as const },
      ),
    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      const rows = await table.read(ids);
      return rows.filter(({ row }) => row.cancelRequested).map(({ row }) => row.id);
    },
    async purge(olderThan) {
      if (olderThan === undefined && table.forgets) return 0;
      return table.purge(past(olderThan ?? retention), clock.now());
    },
    writer: {
      enqueued: (jobs) => table.add(jobs.map(newRow)),
      started: (job, start) => update(job.id, (row) => begin(row, job, start)),
      settled: (job, owner, how) =>
        update(job.id, (row) => ({ row: end(row, job, owner, how, retention), answer: undefined })),
      retried: (ids, replaced) =>
        forEach(ids, (id) =>
          update(id, (row) => ({
            row: row && isDead(row) ? retried(row, clock.now(), replaced?.get(id)) : null,
            answer: null,
          })),
        ),
      changed: (id, change) =>
        update(id, (row) => ({ row: row && changed(row, clock.now(), change), answer: undefined })),
    },
  };
}
