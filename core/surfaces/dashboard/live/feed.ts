/** The current state for all open pages. Each backend is asked once for all of them, and not at all without open pages. */

import { type Clock, within } from '../../../base/clock.ts';
import { LongshoreError, shown } from '../../../base/errors.ts';
import { cut } from '../../../base/failure.ts';
import type { WorkerBeat } from '../../../contract/store.ts';
import { queueRates, totalRates } from '../../../features/metrics/rates.ts';
import { eachOf } from '../../../kernel/enqueue/backends.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { goneAfterMs, workerTotals } from '../../../kit/worker-state.ts';
import { queuesOf } from '../../../operations/queues.ts';
import { askEach, labelled } from '../../../routing/each.ts';
import { Refusal } from '../../http/problem.ts';
import type { Live, LiveQueue } from '../api.ts';

export interface LiveFeed {
  /** The state, at most a second old. Never rejects. */
  current(): Promise<Live>;
  /** Calls `listener` now and every 2 s, with `null` while no backend has answered yet. Returns a function that stops it. */
  listen(listener: (live: Live | null) => void): () => void;
}

const everyMs = 2_000;
const freshMs = 1_000;
const longestLookMs = 5_000;

export function liveFeed(client: Client): LiveFeed {
  const { clock } = client.app;
  const looks = new Map(eachOf(client).map((one) => [one, patient(clock, looker(one))]));
  let last: Live = nothing(clock.now());
  let askedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<Live> | null = null;

  async function again(): Promise<Live> {
    try {
      const { answers, ...missed } = await askEach([...looks.keys()], (one) => looks.get(one)!());
      return { ...joinedLive(answers, clock.now()), ...missed };
    } catch (error) {
      const { unavailable: _, ...known } = last;
      return { ...known, error: textOf(error) };
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

/** The state of one backend. */
interface Look {
  readonly queues: readonly LiveQueue[];
  readonly beats: readonly WorkerBeat[];
  readonly rates: Live['rates'];
}

/** Limits the time of a look. A look that timed out may hang for ever. No other one starts beside it: it would hang too. */
function patient(clock: Clock, look: () => Promise<Look>): () => Promise<Look> {
  let left: Promise<unknown> | null = null;
  return async () => {
    if (left) throw away('The backend does not answer.');
    const work = look();
    return within(clock, longestLookMs, work, () => {
      left = work.then(
        () => {},
        () => {},
      );
      void left.then(() => {
        left = null;
      });
      throw away(`The backend gave no answer for ${longestLookMs / 1000} s.`);
    });
  };
}

const away = (message: string): LongshoreError => new LongshoreError('BACKEND', message);

const nothing = (at: number): Live => joinedLive([], at);

function joinedLive(looks: readonly { readonly client: Client; readonly answer: Look }[], at: number): Live {
  // Backends may share a store.
  const beats = new Map(looks.flatMap(({ answer }) => answer.beats).map((beat) => [beat.id, beat]));
  const rates = looks.flatMap(({ answer }) => answer.rates ?? []);
  return {
    at,
    queues: looks.flatMap(({ client, answer }) => labelled(client, answer.queues)),
    workers: workerTotals([...beats.values()], at),
    rates: rates.length > 0 ? totalRates(rates) : null,
    error: null,
  };
}

function looker(client: Client): () => Promise<Look> {
  const { app, backend, stores } = client;
  const rates = queueRates(client);
  return async () => {
    const now = app.clock.now();
    const [all, beats] = await Promise.all([
      backend.admin ? queuesOf(client) : [],
      stores.workers.list(now - goneAfterMs),
    ]);
    const numbers = await rates(
      all.map(({ queue }) => queue),
      now,
    );
    // Functions send no heartbeats. Without any heartbeat the number of workers is unknown.
    const workersOf = (queue: string) =>
      beats.length === 0 ? null : beats.filter(({ queues }) => queues.includes(queue)).length;
    return {
      queues: all.map((one) => ({
        ...one,
        rates: numbers?.get(one.queue) ?? null,
        workers: workersOf(one.queue),
      })),
      beats,
      rates: numbers ? totalRates([...numbers.values()]) : null,
    };
  };
}

const longestText = 300;

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : shown(error);
  return cut(text, longestText);
}

export interface LiveStreams {
  open(): ReadableStream<Uint8Array>;
  /** Ends all streams. Browsers reconnect when the server is back. */
  close(): void;
}

/** Limit per process. Each stream holds a connection. */
const mostStreams = 100;
/** A browser with this many unread events gets no more until it reads: each event has the whole state. */
const mostWaiting = 3;

/** `api/events`. Each event has the whole state, so a browser that reconnects misses nothing. */
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
