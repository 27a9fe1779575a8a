/** `3 running: report.nightly 45 % (12 s), …`: what a worker on a terminal does that takes long. */

import type { App } from '../../../core/kernel/app/app.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import type { Input } from '../definition.ts';
import { openBottom } from '../output/bottom.ts';
import { number, plain, span } from '../output/ui.ts';
import { cutTo } from '../output/width.ts';
import { shareText } from './running-jobs.ts';

const everyMs = 1_000;
/** What runs shorter is seen when it has ended. */
const longMs = 1_000;
const mostNamed = 3;
const longestName = 24;

interface Started {
  readonly job: string;
  readonly at: number;
}

/** Resolves with how to end it. */
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
