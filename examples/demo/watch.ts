/** Looks at the queue and the app's database a few times a second and hands the picture to the view. */

import type { Contract } from '../../core/index.ts';
import type { ExampleApp } from '../app/app.ts';
import { grouped } from './lines.ts';
import type { Bar } from './picture.ts';
import type { Stage } from './stage.ts';
import { clipSegments, type Expected, importId } from './story.ts';
import type { Tally } from './tally.ts';
import type { View } from './view.ts';

export interface Watching {
  /** What the last line says. */
  footer(text: string): void;
  stop(): void;
}

export interface Watched {
  readonly view: View;
  readonly stage: Stage;
  readonly example: ExampleApp;
  readonly backend: Contract.QueueBackend;
  readonly tally: Tally;
  readonly expected: Expected;
  readonly startedAt: number;
  readonly title: string;
}

const frameMs = 100;

/** A queue nobody has used yet is not among a backend's statistics. */
function emptyQueue(queue: string): Contract.QueueStats {
  return { queue, ready: 0, delayed: 0, leased: 0, dead: 0, paused: false, oldestReadyMs: null };
}

export function watch(watched: Watched): Watching {
  const { view, backend, tally, startedAt, title, example } = watched;
  let footer = '';
  let queues = example.app.queues.map(emptyQueue);
  let asking = false;

  async function look(): Promise<void> {
    if (asking || !backend.admin) return;
    asking = true;
    try {
      const known = await backend.admin.stats();
      queues = example.app.queues.map(
        (name) => known.find(({ queue }) => queue === name) ?? emptyQueue(name),
      );
    } catch {
      // A frame without fresh numbers is no reason to end the demo; a real fault shows as an event.
    } finally {
      asking = false;
    }
  }

  const timer = setInterval(() => {
    void look();
    const elapsedMs = Date.now() - startedAt;
    view.show({ title, elapsedMs, bars: barsOf(watched), queues, tally, footer });
  }, frameMs);
  return {
    footer(text) {
      if (text === footer) return;
      footer = text;
      view.note(text);
    },
    stop: () => clearInterval(timer),
  };
}

function barsOf({ stage, example, tally, expected }: Watched): Bar[] {
  const { jobs } = example;
  const { mailbox, outside, services } = stage;
  const { invoices, thumbnails, payments } = expected;
  const { imported, refused } = services.db.importTotals(importId);
  const rowsPerSecond = importSpeed(tally, jobs.importChunk.name, imported + refused);
  const speed = rowsPerSecond === null ? '' : `${grouped(rowsPerSecond)} rows/s`;
  const ended = (job: { name: string }) => tally.ended(job.name);
  return [
    { label: 'orders', done: imported, total: expected.rows, note: speed },
    { label: 'invoices', done: Math.min(ended(jobs.renderInvoice), invoices), total: invoices, note: 'PDF' },
    { label: 'mails', done: mailbox.mails.length, total: invoices, note: 'SMTP' },
    { label: 'webhooks', done: outside.webhooks.length, total: invoices, note: 'HTTP' },
    { label: 'thumbnails', done: ended(jobs.thumbnail), total: thumbnails, note: 'WebP' },
    { label: 'clip', done: ended(jobs.shrinkSegment), total: clipSegments, note: 'a chain' },
    { label: 'payments', done: outside.payments.length, total: payments, note: 'a flaky gateway' },
  ];
}

/** Rows per second from the first chunk's start to the last chunk's end so far. */
export function importSpeed(tally: Tally, chunkJob: string, rows: number): number | null {
  const span = tally.span(chunkJob);
  return span && span.to > span.from ? (rows * 1000) / (span.to - span.from) : null;
}
