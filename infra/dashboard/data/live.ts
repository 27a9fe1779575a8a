/** Keeps a page up to date: by server-sent events, or by asking again where there is no stream. */

import type { Live } from '../../../core/surfaces/dashboard/api.ts';
import { ask, Problem, session, signIn, wordsOf } from './client.ts';
import { createStore } from './store.ts';
import { shareStream, silentAfterMs } from './stream.ts';

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'silent';

export interface LiveState {
  readonly connection: Connection;
  /** Why, where it is not live. */
  readonly reason: string | null;
  readonly live: Live | null;
  /** The last ones, oldest first. */
  readonly recent: readonly Live[];
}

/** How long earlier values are kept. */
export const keptMs = 180_000;
const pollMs = 5_000;

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
  const { streams, actor } = session.get()!;
  // Browsers have locks on https and on this machine only.
  current = streams && 'locks' in navigator ? stream(actor) : poll();
}

/** Asks every few seconds while the page is seen, and later where news came by itself. */
function poll(firstMs = 0): { later(): void; stop(): void } {
  const ended = new AbortController();
  let timer = window.setTimeout(() => void look(), firstMs);
  function next(ms: number): void {
    clearTimeout(timer);
    timer = window.setTimeout(() => void look(), ms);
  }
  async function look(): Promise<void> {
    try {
      if (!document.hidden) take(await ask<Live>('live', ended.signal));
    } catch (error) {
      if (ended.signal.aborted || (error instanceof Problem && error.status === 401)) return;
      lose(wordsOf(error));
    }
    next(pollMs);
  }
  return {
    later: () => next(silentAfterMs),
    stop() {
      ended.abort();
      clearTimeout(timer);
    },
  };
}

/** Asks too where no stream brings news, whichever tab has it. */
function stream(who: string): { stop(): void } {
  const asking = poll(silentAfterMs);
  const shared = shareStream(who, (news) => {
    asking.later();
    if ('live' in news) take(news.live);
    else lose(news.lost);
  });
  return {
    stop() {
      asking.stop();
      shared.stop();
    },
  };
}
