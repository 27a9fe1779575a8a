/** Keeps a page up to date: by server-sent events, or by polling if there is no stream. */

import type { Live } from '../../../core/surfaces/dashboard/api.ts';
import { ask, Problem, session, signIn, wordsOf } from './client.ts';
import { createStore } from './store.ts';
import { shareStream, silentAfterMs } from './stream.ts';

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'silent';

export interface LiveState {
  readonly connection: Connection;
  /** Why it is not live; `null` = it is. */
  readonly reason: string | null;
  readonly live: Live | null;
  /** The last states, oldest first. */
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

/** How far the server's clock is ahead of this one. */
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

/** Ends the previous connection and opens one for the new session. If there is none, the reason is shown instead of the pages. */
export async function connect(): Promise<void> {
  try {
    await signIn();
  } catch {
    return;
  }
  current?.stop();
  const { streams, actor } = session.get()!;
  // Browsers have `navigator.locks` only on https and on localhost.
  current = streams && 'locks' in navigator ? stream(actor) : poll();
}

/** Polls every few seconds while the page is visible; events postpone the next poll. */
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

/** Also polls if no stream of any tab brings events. */
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
