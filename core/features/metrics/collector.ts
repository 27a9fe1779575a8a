/**
 * Counts the attempts of one worker or function instance, and writes the sums at intervals: the cost of a flush depends on the number of jobs
 * and queues, not of attempts. A row holds all counts of this source in its minute, so writing it again changes nothing. A process that dies
 * loses its counts since the last flush.
 */

import { type Clock, within } from '../../base/clock.ts';
import { backendError } from '../../base/failure.ts';
import type { MetricRow, MetricStore } from '../../contract/derived/metrics.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { stepOf } from '../../kit/records/metric-steps.ts';
import { type Counted, count, countMemory, newTally, packTally, type Tally } from './tally.ts';

/** Between two flushes. */
const flushMs = 10_000;
/** A write that takes longer counts as failed. Repeating it changes nothing. */
const longestWriteMs = 30_000;
/** A function that waited longer would keep messages whose jobs are done. */
const longestWaitMs = 2_000;
/** The most entries kept while the store is unavailable: an hour of a hundred jobs. Older minutes are dropped. */
const mostEntries = 6_000;
/**
 * If the clock is set back by no more than this, counting continues in the last minute: starting an earlier one again would overwrite its stored
 * row.
 */
const mostBackMs = 300_000;
/** Reading the memory of a process costs as much as a small job. */
const memoryEveryMs = 100;

interface Entry {
  readonly at: number;
  readonly queue: string;
  readonly job: string;
  readonly tally: Tally;
  isDirty: boolean;
}

interface CollectorOptions {
  /** The worker's id. */
  readonly source: string;
  /** Resident memory of the process, in bytes. */
  readonly rssBytes: () => number;
}

export type Collector = ReturnType<typeof createCollector>;

/** `null` if no metrics are kept. A failing store is reported once, until it has accepted metrics again. */
export function collectorOf(
  { app, stores }: Pick<Client, 'app' | 'stores'>,
  options: CollectorOptions,
): Collector | null {
  const { metrics } = stores;
  if (!metrics) return null;
  const during = 'writing numbers';
  return createCollector(metrics, app.clock, options, (cause) => {
    app.events.emit({ type: 'store.failed', during, ids: [], error: backendError(during, cause) });
  });
}

function createCollector(
  store: MetricStore,
  clock: Clock,
  { source, rssBytes }: CollectorOptions,
  failed: (error: unknown) => void,
) {
  /** The entries of the current minute: by queue, by job. */
  let current = new Map<string, Map<string, Entry>>();
  let minute = 0;
  /** Everything that is not known to be stored, oldest first. */
  let entries: Entry[] = [];
  let sampledAt = 0;
  let flushedAt = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  let flushing: Promise<void> | null = null;
  /** The flush after that. */
  let next: Promise<void> | null = null;

  function entryOf(queue: string, job: string, now: number): Entry {
    const step = stepOf('minute', now);
    const isBack = step < minute && minute - step <= mostBackMs;
    const at = isBack ? minute : step;
    if (at !== minute) {
      minute = at;
      current = new Map();
    }
    let jobs = current.get(queue);
    if (!jobs) {
      jobs = new Map();
      current.set(queue, jobs);
    }
    let entry = jobs.get(job);
    if (!entry) {
      entry = { at, queue, job, tally: newTally(), isDirty: false };
      jobs.set(job, entry);
      entries.push(entry);
      if (entries.length > mostEntries) giveUp();
    }
    entry.isDirty = true;
    return entry;
  }

  function giveUp(): void {
    entries = entries.slice(mostEntries / 2);
    tell(new Error(`The backlog of metrics exceeds ${mostEntries} entries; the oldest half was dropped.`));
  }

  function tell(error: unknown): void {
    if (!isFailing) failed(error);
    isFailing = true;
  }

  const late = (): never => {
    throw new Error(`The store gave no answer for ${longestWriteMs} ms.`);
  };

  async function write(): Promise<void> {
    const dirty = entries.filter(({ isDirty }) => isDirty);
    for (const entry of dirty) entry.isDirty = false;
    try {
      if (dirty.length > 0) await within(clock, longestWriteMs, store.write(dirty.map(rowOf)), late);
    } catch (error) {
      for (const entry of dirty) entry.isDirty = true;
      return tell(error);
    }
    isFailing = false;
    // Earlier minutes cannot change any more.
    entries = entries.filter(({ at, isDirty }) => isDirty || at === minute);
  }

  const rowOf = ({ at, queue, job, tally }: Entry): MetricRow => ({
    step: 'minute',
    at,
    queue,
    job,
    source,
    body: packTally(tally),
  });

  /** Writes all counts so far. Never rejects: rows that the store did not accept are part of the next flush. */
  function flush(): Promise<void> {
    flushedAt = clock.now();
    if (flushing) {
      next ??= flushing.then(() => {
        next = null;
        return flush();
      });
      return next;
    }
    flushing = write().finally(() => {
      flushing = null;
    });
    return flushing;
  }

  return {
    /**
     * An attempt has ended.
     * @param bytes the result of `sample` before it; concurrent attempts may have grown the process, too
     */
    count(queue: string, result: Counted, bytes: number | null): void {
      const now = clock.now();
      const { tally } = entryOf(queue, result.job ?? '', now);
      count(tally, result, now);
      if (bytes !== null && result.memoryBytes === null) countMemory(tally, rssBytes() - bytes);
    },
    /** Resident bytes before an attempt; `null` = this attempt is not measured. */
    sample(now: number = clock.now()): number | null {
      if (now - sampledAt < memoryEveryMs) return null;
      sampledAt = now;
      return rssBytes();
    },
    flush,
    flushMs,
    /** For a function, whose timers stop between its calls: flushes unless it has done so recently. Ends after `ms`, and at the latest after 2 s. */
    flushWhenDue: async (ms: number): Promise<void> => {
      if (clock.now() - flushedAt >= flushMs)
        await within(clock, Math.min(ms, longestWaitMs), flush(), () => {});
    },
  };
}
