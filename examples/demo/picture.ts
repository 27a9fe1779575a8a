/** The state of the demo as one block of text. Pure: the same state gives the same block. */

import type { Contract } from '../../core/index.ts';
import { cell, grouped, lineOf, paint, printedLine, seconds } from './lines.ts';
import type { Outcomes, Tally } from './tally.ts';

export interface Bar {
  readonly label: string;
  readonly done: number;
  readonly total: number;
  readonly note: string;
}

export interface Picture {
  readonly title: string;
  readonly elapsedMs: number;
  readonly bars: readonly Bar[];
  readonly queues: readonly Contract.QueueStats[];
  readonly tally: Tally;
  readonly footer: string;
}

export function drawBlock(picture: Picture, columns: number, rows: number): string {
  const width = Math.max(60, Math.min(columns, 92)) - 2;
  const { title, elapsedMs, bars, queues, tally, footer } = picture;
  const time = seconds(elapsedMs);
  const head = [
    '',
    `${paint('bold', title)}${paint('dim', time.padStart(width - title.length))}`,
    '',
    ...bars.map((bar) => drawBar(bar, width)),
    '',
    drawOutcomes(tally.outcomes),
    '',
    ...drawQueues(queues, width),
    '',
  ];
  // The block never grows while it is shown: the lines below are always as many, empty ones at first.
  const room = Math.max(2, Math.min(8, rows - head.length - 4));
  const moments = tally.recent.slice(-room).map(({ atMs, event }) => {
    const line = lineOf(event);
    return line ? printedLine(seconds(atMs).padStart(7), line, width) : '';
  });
  while (moments.length < room) moments.push('');
  const lines = [...head, ...moments, '', paint('dim', cell(footer, width).trimEnd())];
  return lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n');
}

function drawBar({ label, done, total, note }: Bar, width: number): string {
  const barWidth = Math.max(10, Math.min(40, width - 50));
  const share = total === 0 ? 0 : Math.min(1, done / total);
  const full = Math.floor(share * barWidth);
  const line =
    paint(share === 1 ? 'green' : 'cyan', '━'.repeat(full)) + paint('dim', '─'.repeat(barWidth - full));
  const numbers = `${grouped(done)} / ${grouped(total)}`;
  return `${cell(label, 10)} ${line} ${cell(numbers, 21, 'right')}  ${paint('dim', cell(note, 15).trimEnd())}`;
}

const outcomeColours = {
  acked: 'green',
  requeued: 'yellow',
  'dead-lettered': 'red',
  rejected: 'red',
  'skipped-idempotent': 'cyan',
} as const;

export function drawOutcomes(outcomes: Readonly<Outcomes>): string {
  return Object.entries(outcomes)
    .map(([name, n]) => {
      const text = `${grouped(n)} ${name}`;
      return n === 0 ? paint('dim', text) : paint(outcomeColours[name as keyof Outcomes], text);
    })
    .join('  ');
}

/** A column per queue, so that the numbers change and the lines stay where they are. */
function drawQueues(queues: readonly Contract.QueueStats[], width: number): string[] {
  if (queues.length === 0) return [];
  const column = Math.min(11, Math.floor((width - 10) / queues.length));
  const line = (label: string, show: (queue: Contract.QueueStats) => string | number) =>
    paint('dim', cell(label, 10)) +
    queues
      .map((queue) => {
        const text = cell(String(show(queue)), column, 'right');
        return show(queue) === 0 ? paint('dim', text) : text;
      })
      .join('');
  return [
    line('queue', (queue) => queue.queue),
    line('waiting', (queue) => queue.ready),
    line('delayed', (queue) => queue.delayed),
    line('running', (queue) => queue.leased),
  ];
}
