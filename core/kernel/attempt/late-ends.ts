/**
 * Ends that could not be recorded when their jobs were settled. Nobody else writes them: the message is gone. So this process tries again
 * until the store is back. An end may be written late, and twice.
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
/** By then a job without an end is taken for a failed one: core/kit/records/believe.ts. */
const longestMs = 3_600_000;
/** Each may hold what its handler returned. */
const mostWaiting = 1_000;
const writtenAtOnce = 8;
const patienceMs = 10_000;
/** How long a worker that stops, or a function that answers, waits. */
const lastWaitMs = 2_000;

/** By the client of a worker or of a function. */
const all = new WeakMap<Client, LateEnds>();

/** The first try is after a pause: the store has just failed. */
export function writeLater(client: Client, end: LateEnd): void {
  const mine = all.get(client) ?? lateEnds(client);
  all.set(client, mine);
  mine.add(end);
}

/** Tries at once. Resolves when that is over, at the latest after `ms`, and after 2 s. */
export async function endsWritten(client: Client, ms = Number.POSITIVE_INFINITY): Promise<void> {
  const mine = all.get(client);
  if (mine) await within(client.app.clock, Math.min(ms, lastWaitMs), mine.write(), () => {});
}

/** Of a worker that stops: what is still not written is given up, and no timer is left. */
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
    const message = `The record store was not told how ${ids.length === 1 ? 'a job' : `${ids.length} jobs`} ended, and will not be: ${why}.`;
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

  /** A few at once, until none of them can be written: a store that is back must not meet all of them, and one of them may never be taken. */
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
