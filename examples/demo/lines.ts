/** One event as one line for people; `null` for what they need not see. */

import { styleText } from 'node:util';
import type { LongshoreEvent } from '../../core/index.ts';

export interface EventLine {
  readonly sign: string;
  readonly what: string;
  readonly detail: string;
  readonly colour: 'green' | 'yellow' | 'red' | 'cyan' | 'dim';
  /** Worth a line of its own even where lines are few. */
  readonly notable: boolean;
}

type Settled = Extract<LongshoreEvent, { type: 'job.settled' }>;

export function lineOf(event: LongshoreEvent): EventLine | null {
  switch (event.type) {
    case 'job.settled':
      return settledLine(event);
    case 'job.log':
      return { ...plain, what: event.job, detail: `${event.message} ${fieldsOf(event.fields)}` };
    case 'job.warning':
      return { sign: '!', what: event.job, detail: event.message, colour: 'yellow', notable: true };
    case 'schedule.enqueued':
      return { sign: '»', what: event.schedule, detail: 'schedule fired', colour: 'cyan', notable: true };
    case 'schedule.failed':
      return { sign: '✗', what: event.schedule, detail: event.error.message, colour: 'red', notable: true };
    case 'backend.failed':
      return {
        sign: '✗',
        what: event.backend,
        detail: `${event.during}: ${event.error.message}`,
        colour: 'red',
        notable: true,
      };
    case 'backend.recovered':
      return {
        sign: '✓',
        what: event.backend,
        detail: `back after ${seconds(event.afterMs)}`,
        colour: 'green',
        notable: true,
      };
    case 'worker.reaped':
      return {
        sign: '↻',
        what: event.queue,
        detail: `${event.count} jobs of a vanished worker run again`,
        colour: 'yellow',
        notable: true,
      };
    default:
      return null;
  }
}

const plain = { sign: '·', colour: 'dim', notable: false } as const;

function settledLine(event: Settled): EventLine {
  const what = event.job || 'unknown sender';
  const tenant = event.tenantId === null ? '' : ` · ${event.tenantId}`;
  // Most errors are a handler's own; only Longshore's codes say something new.
  const error = (event.error ?? '').replace(/^HANDLER: /, '');
  switch (event.outcome) {
    case 'acked': {
      const again = event.attempt > 1 ? ` · attempt ${event.attempt}` : '';
      const detail = `${event.durationMs} ms${tenant}${again}`;
      return { sign: '✓', what, detail, colour: 'green', notable: event.attempt > 1 };
    }
    case 'requeued':
      if (event.error === null)
        return { ...plain, what, detail: `waits, for ${seconds(event.delayMs ?? 0)} at most` };
      return {
        sign: '↻',
        what,
        detail: `attempt ${event.attempt}, again in ${seconds(event.delayMs ?? 0)}: ${error}`,
        colour: 'yellow',
        notable: true,
      };
    case 'skipped-idempotent':
      return { sign: '=', what, detail: 'already done, not run again', colour: 'cyan', notable: true };
    case 'dead-lettered':
      return {
        sign: '✗',
        what,
        detail: `dead letter (${event.reason}): ${error}`,
        colour: 'red',
        notable: true,
      };
    case 'rejected':
      return { sign: '✗', what, detail: `rejected: ${error}`, colour: 'red', notable: true };
  }
}

function fieldsOf(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
export const grouped = (n: number): string => Math.round(n).toLocaleString('en-US');

export const paint = (style: Parameters<typeof styleText>[0], text: string): string => styleText(style, text);

/** Exactly `width` characters: cut with an ellipsis, or filled up. */
export function cell(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const flat = text.replace(/\s+/g, ' ');
  const cut = flat.length > width ? `${flat.slice(0, Math.max(0, width - 1))}…` : flat;
  return align === 'left' ? cut.padEnd(width) : cut.padStart(width);
}

/** ` 2.1 s  ✓ invoice.mail      38 ms · acme`, at most `width` characters wide. */
export function printedLine(atText: string, line: EventLine, width: number): string {
  const detailWidth = Math.max(10, width - atText.length - 25);
  const sign = paint(line.colour, line.sign);
  const detail = cell(line.detail, detailWidth).trimEnd();
  const loud = line.colour === 'red' || line.colour === 'yellow';
  return `${paint('dim', atText)}  ${sign} ${cell(line.what, 20)} ${loud ? detail : paint('dim', detail)}`;
}
