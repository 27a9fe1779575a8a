/**
 * Ends of jobs that could not be recorded when the jobs were settled. No other process can write them, because the message is gone. So
 * this process retries until the store is back. An end may be written late, and twice.
 */

import { within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { Client } from '../enqueue/client.ts';

export interface LateEnd {
  readonly id: string;
  write(): Promise<void>;
}

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** After this time a job without an end counts as failed: core/kit/records/believe.ts. */
const longestMs = 3_600_000;
/** The most ends in memory; each may hold the output of its job. */
const mostWaiting = 1_000;
const writtenAtOnce = 8;
const patienceMs = 10_000;
/** The longest time that a stopping worker, or a function before its answer, waits. */
const lastWaitMs = 2_000;

/** One per client of a worker or function. */
const all = new WeakMap<Client, LateEnds>();

/** The first try comes after a pause, because the store has just failed. */
export function writeLater(client: Client, end: LateEnd): void {
  const mine = all.get(client) ?? lateEnds(client);
  all.set(client, mine);
  mine.add(end);
}

/** Tries to write all ends at once. Resolves after the tries, after `ms` or 2 s at the latest. */
export async function endsWritten(client: Client, ms = Number.POSITIVE_INFINITY): Promise<void> {
  const mine = all.get(client);
  if (mine) await within(client.app.clock, Math.min(ms, lastWaitMs), mine.write(), () => {});
}

/** For a worker that stops: tries once more, drops the ends that still fail, and stops the timer. */
export async function lastEndsWritten(client: Client): Promise<void> {
  await endsWritten(client);
  all.get(client)?.stop();
}

type LateEnds = ReturnType<typeof lateEnds>;

function lateEnds({ app: { clock, events } }: Client) {
  /** Oldest first. */
  let waiting: { readonly end: LateEnd; readonly since: number }[] = [];
  let pauseMs = firstPauseMs;
  let writing: Promise<void> | null = null;
  let cancel: (() => void) | null = null;

  function plan(): void {
    if (!cancel && !writing && waiting.length > 0) cancel = clock.after(pauseMs, () => void write());
  }

  function unplan(): void {
    cancel?.();
    cancel = null;
  }

  function giveUp(count: number, why: string): void {
    const ids = waiting.splice(0, count).map(({ end }) => end.id);
    if (ids.length === 0) return;
    const message = `The end of ${ids.length === 1 ? 'a job' : `${ids.length} jobs`} was not recorded and is given up: ${why}.`;
    const error = new LongshoreError('BACKEND', message);
    events.emit({ type: 'store.failed', during: 'recording an end', ids, error });
  }

  function write(): Promise<void> {
    unplan();
    writing ??= writeAll().finally(() => {
      writing = null;
      plan();
    });
    return writing;
  }

  /** Writes a few at once, and stops if none of them succeeds: a store that has just come back must not get all of them. One may fail for good. */
  async function writeAll(): Promise<void> {
    for (let at = 0; at < waiting.length; ) {
      const some = waiting.slice(at, at + writtenAtOnce);
      const written = await Promise.all(some.map(({ end }) => isWritten(end)));
      const done = new Set(some.filter((_, i) => written[i]));
      waiting = waiting.filter((one) => !done.has(one));
      if (done.size === 0) break;
      at += some.length - done.size;
    }
    pauseMs = waiting.length > 0 ? Math.min(2 * pauseMs, longestPauseMs) : firstPauseMs;
    const tooOld = waiting.filter(({ since }) => clock.now() - since >= longestMs);
    giveUp(tooOld.length, 'it has failed for an hour');
  }

  function isWritten(end: LateEnd): Promise<boolean> {
    const write = end.write().then(
      () => true,
      () => false,
    );
    return within(clock, patienceMs, write, () => false);
  }

  return {
    add(end: LateEnd): void {
      if (waiting.length >= mostWaiting) giveUp(1, `${mostWaiting} others wait`);
      waiting.push({ end, since: clock.now() });
      plan();
    },
    write,
    stop(): void {
      giveUp(waiting.length, 'the worker has stopped');
      unplan();
    },
  };
}
