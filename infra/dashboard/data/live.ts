/** What is true now: by server-sent events, or by asking again where the server cannot hold a stream. */

import type { Live } from '../../../core/dashboard/api.ts';
import { addressOf, ask, Problem, session, signIn, wordsOf } from './client.ts';
import { createStore } from './store.ts';

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'silent';

export interface LiveState {
  readonly connection: Connection;
  /** Why, where it is not live. */
  readonly reason: string | null;
  readonly live: Live | null;
  /** The last ones, oldest first. */
  readonly recent: readonly Live[];
}

/** Of the values of before. */
export const keptMs = 180_000;
const pollMs = 5_000;
/** Events come every two seconds. */
const silentAfterMs = 15_000;

export const live = createStore<LiveState>({
  connection: 'connecting',
  reason: null,
  live: null,
  recent: [],
});

/** By how much the server's clock is ahead of this one. */
let aheadMs = 0;
export const serverNow = (): number => Date.now() + aheadMs;

function take(next: Live): void {
  aheadMs = next.at - Date.now();
  const { recent } = live.get();
  const connection = next.error === null ? 'live' : 'silent';
  live.set({
    connection,
    reason: next.error,
    live: next,
    recent: [...recent.filter(({ at }) => at > next.at - keptMs), next],
  });
}

function lose(reason: string | null): void {
  live.set({ ...live.get(), connection: 'reconnecting', reason });
}

let current: { stop(): void } | null = null;

/** Ends the connection before, and makes one that suits the new session. Why there is none is shown instead of the pages. */
export async function connect(): Promise<void> {
  try {
    await signIn();
  } catch {
    return;
  }
  current?.stop();
  current = session.get()?.streams === false ? poll() : stream();
}

function stream(): { stop(): void } {
  let source: EventSource | null = null;
  let timer = 0;
  let waitMs = 1_000;
  function again(reason: string | null): void {
    source?.close();
    lose(reason);
    clearTimeout(timer);
    timer = window.setTimeout(() => void reopen(), waitMs);
    waitMs = Math.min(waitMs * 2, 15_000);
  }
  /** An event source does not tell why it was refused: the session does. */
  async function reopen(): Promise<void> {
    try {
      await signIn();
      open();
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return;
      again(wordsOf(error));
    }
  }
  function watch(): void {
    clearTimeout(timer);
    timer = window.setTimeout(() => again('No news for some seconds.'), silentAfterMs);
  }
  function open(): void {
    source = new EventSource(addressOf('events'));
    source.addEventListener('live', ({ data }: MessageEvent<string>) => {
      waitMs = 1_000;
      watch();
      take(JSON.parse(data) as Live);
    });
    source.onerror = () => again(null);
    watch();
  }
  open();
  return {
    stop() {
      clearTimeout(timer);
      source?.close();
    },
  };
}

function poll(): { stop(): void } {
  const ended = new AbortController();
  let timer = 0;
  async function look(): Promise<void> {
    try {
      if (!document.hidden) take(await ask<Live>('live', ended.signal));
    } catch (error) {
      if (ended.signal.aborted || (error instanceof Problem && error.status === 401)) return;
      lose(wordsOf(error));
    }
    timer = window.setTimeout(() => void look(), pollMs);
  }
  void look();
  return {
    stop() {
      ended.abort();
      clearTimeout(timer);
    },
  };
}
