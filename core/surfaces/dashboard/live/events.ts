/** `api/events`: the live state as server-sent events. Each event is whole, so a browser that comes back needs no others. */

import { Refusal } from '../../http/problem.ts';
import type { Live } from '../api.ts';
import type { LiveFeed } from './feed.ts';

export interface LiveStreams {
  open(): ReadableStream<Uint8Array>;
  /** Ends all of them; browsers open another one when the program is back. */
  close(): void;
}

/** Of one process. Each is a connection that is held. */
const mostStreams = 100;
/** A browser that takes no more is left out until it does: the next event says all that it has missed. */
const mostWaiting = 3;

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
