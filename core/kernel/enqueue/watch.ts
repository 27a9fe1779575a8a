/** Looks at a job until its end. Loaded with the first call of `result()` or `watch()`. */

import { type Clock, sleep, within } from '../../base/clock.ts';
import { config, LongshoreError } from '../../base/errors.ts';
import type { EndWatch, JobRecord, RecordStore } from '../../contract/store.ts';
import { believed } from '../../kit/records/believe.ts';
import type { WatchOptions } from '../app/options.ts';
import type { Client } from './client.ts';

/** Pauses between two reads of the record: the first, and the longest. */
const pauseMs = { first: 50, most: 1_000 };
/** The last read may take this much longer than the timeout. */
const lastLookMs = 1_000;

export interface RecordReader extends Pick<Client, 'app' | 'backend'> {
  readonly stores: { readonly records: Pick<RecordStore, 'get' | 'recordsDisabled' | 'watchEnd'> };
}

/** The longest time until a change is seen. The end of a job is seen at once if the store reports it. */
const everyMs = 1_000;

export function watchJob(
  reader: RecordReader,
  id: string,
  { signal }: WatchOptions = {},
): AsyncGenerator<JobRecord, void> {
  const late = () => {
    throw gone('job', id);
  };
  const looks = looksAt(
    reader,
    id,
    { endsAt: Number.POSITIVE_INFINITY, late, mostHearingMs: everyMs },
    signal,
  );
  return changes(looks, {
    factsOf: JSON.stringify,
    hasEnded: ({ finishedAt }) => finishedAt !== null,
    missing: () => gone('job', id),
  });
}

export interface Watched<State> {
  /** Two states with the same facts are one. */
  factsOf(state: State): string;
  hasEnded(state: State): boolean;
  /** The error for a state that is `null`. */
  missing(): LongshoreError;
}

/** Yields each state that differs from the one before, and ends with the last state. */
export async function* changes<State>(
  looks: AsyncIterable<State | null>,
  { factsOf, hasEnded, missing }: Watched<State>,
): AsyncGenerator<State, void> {
  let before = '';
  for await (const state of looks) {
    if (state === null) throw missing();
    const facts = factsOf(state);
    if (facts === before) continue;
    before = facts;
    yield state;
    if (hasEnded(state)) return;
  }
}

/** For a state whose changes no store reports. Throws the reason of `signal`. */
export async function* lookOften<State>(
  clock: Clock,
  look: () => Promise<State>,
  signal?: AbortSignal,
): AsyncGenerator<State, void> {
  for (;;) {
    signal?.throwIfAborted();
    yield await look();
    await sleep(clock, everyMs, signal);
  }
}

export const gone = (noun: string, id: string): LongshoreError =>
  new LongshoreError('NOT_FOUND', `The ${noun} ${id} is not known here, or no longer kept.`);

interface Patience {
  /** `Infinity` = no end. */
  readonly endsAt: number;
  /** Throws what the caller gets after `endsAt`. */
  late(): never;
  /** The longest pause if the store reports every end. */
  readonly mostHearingMs: number;
}

/**
 * Reads a record again and again: when the store reports the end of the job, and also at intervals, because a report may get lost.
 * `null` = there is no record (yet). Throws the reason of `signal`.
 */
export async function* looksAt(
  { app, backend, stores: { records } }: RecordReader,
  id: string,
  { endsAt, late, mostHearingMs }: Patience,
  signal?: AbortSignal,
): AsyncGenerator<JobRecord | null, void> {
  const { clock } = app;
  if (records.recordsDisabled)
    throw config(
      `Backend "${backend.name}" keeps no records, so there is no result to wait for: give it a store, for example sqliteStore().`,
    );
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const onAbort = () => aborted.reject(signal!.reason);
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  let watch: EndWatch | undefined;
  let woken = Promise.withResolvers<void>();
  try {
    for (let waitMs = pauseMs.first; ; waitMs *= 2) {
      const look = Promise.race([records.get(id), aborted.promise]);
      const lookMs = Math.max(lastLookMs, endsAt - clock.now());
      const record = believed(app, await (lookMs === Infinity ? look : within(clock, lookMs, look, late)));
      yield record;
      const leftMs = endsAt - clock.now();
      if (leftMs <= 0) late();
      if (record && !watch && records.watchEnd) {
        watch = records.watchEnd(record, () => woken.resolve());
        if (watch.hears) continue; // the job may have ended since the last read
      }
      const mostMs = watch?.hears ? mostHearingMs : pauseMs.most;
      const pause = Promise.race([woken.promise, aborted.promise]);
      await within(clock, Math.min(waitMs, mostMs, leftMs), pause, () => {});
      woken = Promise.withResolvers();
    }
  } finally {
    watch?.stop();
    signal?.removeEventListener('abort', onAbort);
  }
}
