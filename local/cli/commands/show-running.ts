/** The status line of a worker on a terminal: `3 running: report.nightly 45 % (12 s), …`. */

import type { App } from '../../../core/kernel/app/app.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import type { Input } from '../definition.ts';
import type { Io } from '../io.ts';
import { cutTo, number, plain, span } from '../output/ui.ts';
import { shareText } from './running-jobs.ts';

const everyMs = 1_000;
/** Jobs that run for less are not shown. */
const longMs = 1_000;
const mostNamed = 3;
const longestName = 24;

interface Started {
  readonly job: string;
  readonly at: number;
}

/** Returns a function that ends it. */
export function showRunning(app: App, { stores }: Client, { io, ui }: Pick<Input, 'io' | 'ui'>): () => void {
  const running = new Map<string, Started>();
  const line = openBottom(io, (text) => ui.paint('cyan', text));
  const unlisten = app.events.on((event) => {
    if (event.type === 'job.started') running.set(event.id, { job: event.job, at: io.clock.now() });
    if (event.type !== 'job.settled') return;
    running.delete(event.id);
    if (running.size === 0) line.show('');
  });
  let hasEnded = false;
  let cancel = io.clock.after(everyMs, look);

  async function textOf(): Promise<string> {
    const now = io.clock.now();
    const long = [...running].filter(([, { at }]) => now - at >= longMs); // in the order in which they began
    if (long.length === 0) return '';
    const named = long.slice(0, mostNamed).map(async ([id, { job, at }]) => {
      const progress = (await stores.records.get(id).catch(() => null))?.progress ?? null;
      return `${cutTo(job, longestName)}${progress ? ` ${shareText(progress)}` : ''} (${span(now - at)})`;
    });
    const more = running.size - named.length;
    const parts = [...(await Promise.all(named)), ...(more > 0 ? [`${number(more)} more`] : [])];
    return plain(`${number(running.size)} running: ${parts.join(', ')}`);
  }

  async function look(): Promise<void> {
    const text = await textOf();
    if (hasEnded) return;
    line.show(running.size === 0 ? '' : text);
    cancel = io.clock.after(everyMs, look);
  }

  return () => {
    hasEnded = true;
    cancel();
    unlisten();
    line.end();
  };
}

const erase = '\r\u001b[K';

export interface Bottom {
  /** An empty text removes the line. */
  show(text: string): void;
  end(): void;
}

/** Keeps a line at the bottom. All other output of this process, also that of handlers, is written above it. */
export function openBottom(
  io: Pick<Io, 'stdout' | 'stderr' | 'isTTY' | 'columns'>,
  paint: (text: string) => string,
): Bottom {
  let shown = '';
  let isFree = true; // the last line has no other text
  const write = io.stdout.write.bind(io.stdout);
  const line = (): string => (shown === '' ? '' : `${paint(cutTo(shown, io.columns - 1))}\r`);
  const undo = [io.stdout, ...(io.isTTY.stderr ? [io.stderr] : [])].map((stream) => above(stream));

  function above(stream: NodeJS.WritableStream): () => void {
    const original = stream.write;
    stream.write = ((chunk: string | Uint8Array, ...more: never[]) => {
      if (isFree && shown !== '') write(erase);
      if (chunk.length > 0) isFree = typeof chunk === 'string' ? chunk.endsWith('\n') : chunk.at(-1) === 10;
      const goesOn = original.call(stream, chunk as string, ...more);
      if (isFree && shown !== '') write(line());
      return goesOn;
    }) as typeof stream.write;
    return () => {
      stream.write = original;
    };
  }

  return {
    show(text) {
      if (text === shown) return;
      const before = isFree && shown !== '' ? erase : '';
      shown = text;
      if (isFree) write(before + line());
    },
    end() {
      this.show('');
      for (const one of undo) one();
    },
  };
}
