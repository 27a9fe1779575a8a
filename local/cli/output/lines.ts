/** Formats an event as a log line. `null` = the event is not shown. */

import { isWait, type LongshoreEvent } from '../../../core/base/events.ts';
import { masked } from '../../../core/base/mask.ts';
import { columnsOf, count, cutTo, padTo, plain, type Style, span, type Ui, wrapped } from './ui.ts';

export type EventLine = readonly [sign: string, style: Style, what: string, detail: string];

export function eventLine(event: LongshoreEvent, ui: Ui, now: number): string | null {
  const line = partsOf(event);
  if (!line) return null;
  const cause = 'traceparent' in event ? plain(causeOf(event)) : '';
  const text = eventLineText(line, ui, now);
  if (cause === '') return text;
  if (ui.columns === null) return `${text} ${ui.paint('dim', cause)}`;
  const under = wrapped(cause, ui.columns - underAt.length).map((one) => underAt + ui.paint('dim', one));
  return [text, ...under].join('\n');
}

/** Request id and trace of the job, as other programs log them for the same request. */
function causeOf({
  requestId,
  traceparent,
}: {
  requestId: string | null;
  traceparent: string | null;
}): string {
  const request = requestId === null ? '' : `request=${requestId}`;
  return traceparent === null ? request : `${request} traceparent=${traceparent}`.trim();
}

/** Width of the time and the sign. */
const headWidth = 12;
const nameWidth = 20;
/** In a narrower window, a text that does not fit beside its name goes under it. */
const leastWidth = 70;
const underAt = ' '.repeat(headWidth);

/** On a terminal, wraps a long text with an indent, and puts a long name on a line of its own. */
export function eventLineText([sign, style, what, detail]: EventLine, ui: Ui, now: number): string {
  const time = new Date(now).toTimeString().slice(0, 8);
  const head = `${ui.paint('dim', time)}  ${ui.paint(style, sign)} `;
  const [name, text] = [plain(what), plain(detail).trim()];
  if (ui.columns === null) return `${head}${name.padEnd(nameWidth)} ${text}`.trimEnd();
  const isLong = columnsOf(name) > nameWidth || ui.columns < leastWidth;
  const indent = headWidth + (isLong ? 2 : nameWidth + 1);
  const lines = wrapped(text, Math.max(20, ui.columns - indent));
  const rest = lines.join(`\n${' '.repeat(indent)}`);
  if (!isLong) return `${head}${padTo(name, nameWidth, 'right')} ${rest}`.trimEnd();
  if (columnsOf(name) + 1 + columnsOf(text) <= ui.columns - headWidth) return `${head}${name} ${text}`;
  return `${head}${cutTo(name, ui.columns - headWidth)}\n${' '.repeat(indent)}${rest}`.trimEnd();
}

function partsOf(event: LongshoreEvent): EventLine | null {
  switch (event.type) {
    case 'job.settled':
      return settled(event);
    case 'job.started':
      return ['▹', 'dim', event.job, `started, attempt ${event.attempt}`];
    case 'job.log':
      return ['·', 'dim', event.job, `${event.message} ${fields(masked(event.fields))}`];
    case 'job.warning':
      return ['!', 'yellow', event.job, event.message];
    case 'schedule.enqueued':
      return ['»', 'cyan', event.schedule, `schedule fired, job ${event.id}`];
    case 'schedule.failed':
      return ['✗', 'red', event.schedule, `${event.error.code}: ${event.error.message}`];
    case 'schedule.skipped': {
      const why = skippedWhy[event.reason];
      return [
        event.reason === 'paused' ? '·' : '!',
        event.reason === 'paused' ? 'dim' : 'yellow',
        event.schedule,
        `${count(event.count, 'moment')} skipped: ${why}`,
      ];
    }
    case 'schedule.late':
      return ['!', 'yellow', event.schedule, `ticked ${span(event.lateMs)} late`];
    case 'breaker.opened':
      return ['!', 'red', event.job, `stopped for ${span(event.openMs)}: ${event.failures} failed in a row`];
    case 'breaker.closed':
      return ['✓', 'green', event.job, 'runs again'];
    case 'ping.failed':
      return ['!', 'yellow', event.schedule, event.error.message];
    case 'alert.firing':
      return ['!', event.severity === 'critical' ? 'red' : 'yellow', event.alert, event.message];
    case 'alert.resolved':
      return ['✓', 'green', event.alert, `over after ${span(event.afterMs)}: ${event.message}`];
    case 'alert.unavailable':
      return ['!', 'yellow', event.alert, event.message];
    case 'alert.failed':
      return ['✗', 'red', event.target, event.error.message];
    case 'backend.failed':
      return ['✗', 'red', event.backend, once(event.during, event.error.message)];
    case 'enqueue.failed-over':
      return [
        '!',
        'yellow',
        event.backend,
        `does not answer: ${count(event.ids.length, 'job')} enqueued on ${event.to}. ${event.error.message}`,
      ];
    case 'outbox.refused':
      return ['✗', 'red', event.backend, `refuses message ${event.id}: ${event.error.message}`];
    case 'backend.recovered':
      return ['✓', 'green', event.backend, `works again after ${span(event.afterMs)}`];
    case 'worker.started':
      return [
        '▸',
        'bold',
        'worker',
        `on ${event.backend}, queues ${event.queues.join(', ')}, ${event.concurrency} at a time`,
      ];
    case 'worker.draining':
      if (event.reason === 'asked')
        return ['▸', 'bold', 'worker', `asked to drain: ${count(event.running, 'job')} may end`];
      return event.reason === 'signal'
        ? [
            '▸',
            'bold',
            'worker',
            `draining: ${count(event.running, 'job')} may end; Ctrl-C again ends at once`,
          ]
        : null;
    case 'worker.stopped':
      return ['▸', 'bold', 'worker', `stopped (${event.reason}), ${count(event.released, 'job')} released`];
    case 'worker.reaped':
      return ['↻', 'yellow', event.queue, `${count(event.count, 'job')} of a vanished worker may run again`];
    case 'worker.memory':
      return ['!', 'yellow', 'worker', 'memory has grown; look for a handler that keeps what it loads'];
    case 'backend.warning':
      return ['!', 'yellow', event.backend, event.message];
    case 'hook.failed':
      return ['✗', 'red', event.hook, event.error.message];
    case 'key.development':
      return ['!', 'yellow', 'signing', `with the development key in ${event.path}`];
    default:
      return null;
  }
}

/** Adds the operation to the message, unless the message already has it. */
const once = (during: string, message: string): string =>
  message.includes(during) ? message : `${during}: ${message}`;

function settled(event: Extract<LongshoreEvent, { type: 'job.settled' }>): EventLine {
  const what = event.job || 'unknown sender';
  const error = (event.error ?? '').replace(/^HANDLER: /, '');
  if (!event.settled) return ['!', 'yellow', what, 'lost its lease, so this run changed nothing'];
  switch (event.outcome) {
    case 'acked': {
      const again = event.attempt > 1 ? `, attempt ${event.attempt}` : '';
      return ['✓', 'green', what, `${span(event.durationMs)}${again}`];
    }
    case 'requeued':
      if (isWait(event))
        return ['·', 'dim', what, `${event.waits ?? 'waits'}, asks again in ${span(event.delayMs ?? 0)}`];
      return [
        '↻',
        'yellow',
        what,
        `attempt ${event.attempt}, again in ${span(event.delayMs ?? 0)}: ${error}`,
      ];
    case 'skipped-idempotent':
      return ['=', 'cyan', what, 'already done, not run again'];
    case 'dead-lettered':
    case 'rejected':
      return ['✗', 'red', what, `${event.outcome} (${event.reason}): ${error}`];
  }
}

function fields(all: unknown): string {
  return Object.entries(all ?? {})
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
}

const skippedWhy = {
  overlap: 'its last job has not ended',
  missed: 'nothing ticked in time',
  paused: 'it is paused',
};
