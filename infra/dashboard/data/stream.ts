/**
 * The server's events, by one stream for all tabs of this browser. Over HTTP/1.1 a browser opens six connections to an origin. A stream in each
 * tab would use them up, also those of the application around the dashboard.
 */

import type { Live } from '../../../core/surfaces/dashboard/api.ts';
import { addressOf, Problem, signIn, wordsOf } from './client.ts';

/** A new state, or why there is none. */
export type News = { readonly live: Live } | { readonly lost: string | null };

/** Events come every two seconds. */
export const silentAfterMs = 15_000;

const greeting = 'which is the last one?';

/** @param who the user: tabs of different users share nothing */
export function shareStream(who: string, hear: (news: News) => void): { stop(): void } {
  const name = `${addressOf('events')} ${who}`;
  const channel = new BroadcastChannel(name);
  let last: News | null = null;
  let seat: AbortController | null = null;
  channel.onmessage = ({ data }: MessageEvent<News | typeof greeting>) => {
    if (data !== greeting) hear(data);
    else if (last) channel.postMessage(last);
  };

  /** Waits until no other tab has the stream. A hidden tab releases it, so that a visible one takes it. */
  function takePart(): void {
    seat?.abort();
    seat = null;
    if (document.hidden) return;
    seat = new AbortController();
    const { signal } = seat;
    channel.postMessage(greeting);
    const hold = () =>
      new Promise<void>((release) => {
        const tell = (news: News): void => {
          last = news;
          hear(news);
          channel.postMessage(news);
        };
        const stream = openStream(tell, release);
        signal.addEventListener('abort', () => {
          stream.stop();
          last = null;
          release();
        });
      });
    navigator.locks.request(name, { signal }, hold).catch(() => {}); // aborted while it waited
  }
  document.addEventListener('visibilitychange', takePart);
  takePart();
  return {
    stop() {
      document.removeEventListener('visibilitychange', takePart);
      seat?.abort();
      channel.close();
    },
  };
}

/** Opens a stream, and another one when it breaks. @param over called when there is no session any more */
function openStream(tell: (news: News) => void, over: () => void): { stop(): void } {
  let source: EventSource | null = null;
  let timer = 0;
  let waitMs = 1_000;
  let stopped = false;
  function again(reason: string | null): void {
    source?.close();
    tell({ lost: reason });
    clearTimeout(timer);
    timer = window.setTimeout(() => void reopen(), waitMs);
    waitMs = Math.min(waitMs * 2, 15_000);
  }
  /** An event source does not report why it was refused; the session does. */
  async function reopen(): Promise<void> {
    try {
      await signIn();
      if (!stopped) open();
    } catch (error) {
      if (stopped) return;
      if (error instanceof Problem && error.status === 401) over();
      else again(wordsOf(error));
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
      tell({ live: JSON.parse(data) as Live });
    });
    source.onerror = () => again(null);
    watch();
  }
  open();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      source?.close();
    },
  };
}
