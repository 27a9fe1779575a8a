/** The state of this moment: the backend is asked once for all who look, and not at all while nobody does. */

import { within } from '../../../base/clock.ts';
import { shown } from '../../../base/errors.ts';
import { cut } from '../../../base/failure.ts';
import type { QueueStats } from '../../../contract/admin.ts';
import { queueRates, totalRates } from '../../../features/metrics/rates.ts';
import { adminOf } from '../../../kernel/enqueue/admin-of.ts';
import { scoped } from '../../../kernel/enqueue/backends.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { goneAfterMs, workerTotals } from '../../../kit/worker-state.ts';
import { Refusal } from '../../http/problem.ts';
import type { Live } from '../api.ts';

export interface LiveFeed {
  /** Not older than a second. Never rejects. */
  current(): Promise<Live>;
  /** Calls `listener` now and every 2 s, with `null` while an answer is awaited for longer. Returns how to stop that. */
  listen(listener: (live: Live | null) => void): () => void;
}

const everyMs = 2_000;
const freshMs = 1_000;
const longestLookMs = 5_000;

export function liveFeed(client: Client): LiveFeed {
  const { clock } = client.app;
  const look = looker(client);
  let last: Live = nothing(clock.now());
  let askedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<Live> | null = null;
  /** A look that was given up and may hang for ever: another one beside it would hang too. */
  let left: Promise<unknown> | null = null;

  async function again(): Promise<Live> {
    if (left) return { ...last, error: 'The backend does not answer.' };
    const work = look();
    try {
      return await within(clock, longestLookMs, work, () => {
        left = work.then(
          () => {},
          () => {},
        );
        void left.then(() => {
          left = null;
        });
        throw new Error(`The backend gave no answer for ${longestLookMs / 1000} s.`);
      });
    } catch (error) {
      return { ...last, error: textOf(error) };
    }
  }

  function current(): Promise<Live> {
    if (looking) return looking;
    if (clock.now() - askedAt < freshMs && last.error === null) return Promise.resolve(last);
    looking = again().then((live) => {
      last = live;
      askedAt = clock.now();
      looking = null;
      return live;
    });
    return looking;
  }

  const listeners = new Set<(live: Live | null) => void>();
  let cancel = () => {};
  function tell(live: Live | null): void {
    for (const listener of listeners) listener(live);
  }
  function turn(): void {
    cancel = clock.after(everyMs, turn);
    if (looking) tell(null);
    else void current().then(tell);
  }
  return {
    current,
    listen(listener) {
      if (listeners.size === 0) cancel = clock.after(everyMs, turn);
      listeners.add(listener);
      void current().then((live) => listeners.has(listener) && listener(live));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) cancel();
      };
    },
  };
}

const nothing = (at: number): Live => ({
  at,
  queues: [],
  workers: workerTotals([], at),
  rates: null,
  error: null,
});

function looker(client: Client): () => Promise<Live> {
  const { app, backend, stores } = client;
  const { queues: own } = scoped(client).app;
  const rates = queueRates(client);
  return async () => {
    const now = app.clock.now();
    const [stats, beats] = await Promise.all([
      backend.admin ? adminOf(client).stats() : [],
      stores.workers.list(now - goneAfterMs),
    ]);
    const all = withoutGaps(stats, backend.admin ? own : []);
    const numbers = await rates(
      all.map(({ queue }) => queue),
      now,
    );
    // Functions keep no heartbeats: where nobody is seen at all, nobody can be counted.
    const workersOf = (queue: string) =>
      beats.length === 0 ? null : beats.filter(({ queues }) => queues.includes(queue)).length;
    return {
      at: now,
      queues: all.map((one) => ({
        ...one,
        rates: numbers?.get(one.queue) ?? null,
        workers: workersOf(one.queue),
      })),
      workers: workerTotals(beats, now),
      rates: numbers ? totalRates([...numbers.values()]) : null,
      error: null,
    };
  };
}

/** A queue that no job has been in yet is one of the app all the same. */
function withoutGaps(stats: readonly QueueStats[], names: readonly string[]): QueueStats[] {
  const missing = names.filter((name) => !stats.some(({ queue }) => queue === name));
  const none = { ready: 0, delayed: 0, leased: 0, dead: 0, paused: false, oldestReadyMs: null };
  return [...stats, ...missing.map((queue) => ({ queue, ...none }))];
}

const longestText = 300;

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : shown(error);
  return cut(text, longestText);
}

export interface LiveStreams {
  open(): ReadableStream<Uint8Array>;
  /** Ends all of them; browsers open another one when the program is back. */
  close(): void;
}

/** Of one process. Each is a connection that is held. */
const mostStreams = 100;
/** A browser that takes no more is left out until it does: the next event says all that it has missed. */
const mostWaiting = 3;

/** `api/events`: each event is whole, so a browser that comes back needs no others. */
export function liveStreams(feed: LiveFeed): LiveStreams {
  const open = new Set<() => void>();
  return {
    open() {
      if (open.size >= mostStreams) {
        throw new Refusal(
          429,
          'RATE_LIMIT',
          `Expected at most ${mostStreams} open pages, got another one. Close some, then reload this one.`,
          { headers: { 'retry-after': '10' } },
        );
      }
      const encoder = new TextEncoder();
      let end = () => {};
      return new ReadableStream<Uint8Array>(
        {
          start(controller) {
            const write = (text: string): void => controller.enqueue(encoder.encode(text));
            write('retry: 2000\n\n');
            const stop = feed.listen((live) => {
              if ((controller.desiredSize ?? 0) > 0) write(live ? eventOf(live) : ': waiting\n\n');
            });
            end = () => {
              stop();
              open.delete(close);
            };
            const close = (): void => {
              end();
              controller.close();
            };
            open.add(close);
          },
          cancel() {
            end();
          },
        },
        new CountQueuingStrategy({ highWaterMark: mostWaiting }),
      );
    },
    close() {
      for (const close of open) close();
    },
  };
}

const eventOf = (live: Live): string => `event: live\ndata: ${JSON.stringify(live)}\n\n`;
