/** Formats the events of a simulation as log lines. */

import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { SimulationEvent, SimulationSummary } from '../../simulate/frame.ts';
import type { Io } from '../io.ts';
import { type EventLine, eventLine, eventLineText } from './lines.ts';
import { count, plain, span, type Ui } from './ui.ts';

/** The terms of a cloud. */
export interface Words {
  readonly platform: string;
  readonly broker: string;
  /** The broker's dead-letter queue of a queue. */
  deadLettersOf(queue: string): string;
}

export function createReporter(
  { stdout, clock }: Pick<Io, 'stdout' | 'clock'>,
  ui: Ui,
  words: Words,
): (event: SimulationEvent) => void {
  return (event) => {
    const now = clock.now();
    if (event.type === 'printed') {
      const line = printedLine(event.line, ui, now);
      if (line !== null) stdout.write(`${line}\n`);
      return;
    }
    for (const line of linesOf(event, words)) stdout.write(`${eventLineText(line, ui, now)}\n`);
  };
}

function linesOf(event: Exclude<SimulationEvent, { type: 'printed' }>, words: Words): EventLine[] {
  switch (event.type) {
    case 'ready':
      return event.lines.map(([what, text]) => ['▸', 'bold', what, text]);
    case 'invoked': {
      const again = event.again > 0 ? `, ${event.again} of them again` : '';
      return [['→', 'cyan', event.queue, `${count(event.messages, 'message')}${again}`]];
    }
    case 'answered': {
      const { done, failed, durationMs } = event;
      const text = `${done} done${failed > 0 ? `, ${failed} reported as failed` : ''}, ${span(durationMs)}`;
      return [['←', failed > 0 ? 'yellow' : 'green', event.queue, text]];
    }
    case 'failed': {
      const text = `the function failed, ${count(event.messages, 'message')} will come again: ${event.error.message}`;
      return [['←', 'red', event.queue, text]];
    }
    case 'redriven': {
      const text = `${count(event.messages, 'message')} came too often: ${words.broker} moves it to ${words.deadLettersOf(event.queue)}`;
      return [['✗', 'red', event.queue, text]];
    }
    case 'stopped': {
      const text = `Lambda takes ${count(event.messages, 'message')} for a loop: functions have sent them on from one to the next too often. It moves them to ${words.deadLettersOf(event.queue)}`;
      return [['✗', 'red', event.queue, text]];
    }
    case 'ticked':
      if (event.error) return [['✗', 'red', 'schedule', event.error.message]];
      return [
        [
          '»',
          'cyan',
          'schedule',
          event.enqueued === null ? 'called' : `called, ${count(event.enqueued, 'job')} due`,
        ],
      ];
    case 'requested': {
      const { method, path, status } = event;
      return [
        [status < 400 ? '←' : '✗', status < 400 ? 'green' : 'yellow', 'http', `${method} ${path} ${status}`],
      ];
    }
    case 'stopping':
      return [['▸', 'bold', words.platform, `stopping: ${count(event.running, 'invocation')} may end`]];
  }
}

/** Formats Longshore's events like everywhere else. Other output of the functions is printed unchanged. */
function printedLine(text: string, ui: Ui, now: number): string | null {
  const event = eventOf(text);
  if (event === 'silent') return null;
  return (event && eventLine(event, ui, now)) ?? `          ${ui.paint('dim', plain(text))}`;
}

const shownTypes = ['job.settled', 'job.log', 'job.warning', 'schedule.enqueued'];
const silent = ['job.started'];

function eventOf(text: string): LongshoreEvent | 'silent' | null {
  if (!text.startsWith('{')) return null;
  try {
    const { event: type, ...facts } = JSON.parse(text) as { event?: string };
    if (silent.includes(type ?? '')) return 'silent';
    const absent = {
      tenantId: null,
      requestId: null,
      traceparent: null,
      error: null,
      reason: null,
      delayMs: null,
      fields: {},
    };
    return shownTypes.includes(type ?? '')
      ? ({ ...absent, ...facts, type } as unknown as LongshoreEvent)
      : null;
  } catch {
    return null;
  }
}

export function summaryLines(summary: SimulationSummary, ui: Ui, words: Words): string {
  const { invocations, messages, done, reportedFailed, failedInvocations, redriven } = summary;
  const ended = summary.reason === 'idle' ? 'idle' : 'stopped';
  const parts = [
    `${count(invocations, 'invocation')} in ${span(summary.durationMs)}`,
    `${count(messages, 'message')}`,
    `${done} done`,
  ];
  if (reportedFailed !== undefined) parts.push(`${reportedFailed} reported as failed`);
  if (failedInvocations > 0)
    parts.push(
      `${count(failedInvocations, 'invocation')} failed${reportedFailed === undefined ? '' : ' as a whole'}`,
    );
  if (redriven > 0) parts.push(`${redriven} moved to the dead letters by ${words.broker}`);
  const left = Object.entries(summary.queues).filter(([, { ready, delayed, hidden, dead }]) =>
    [ready, delayed, hidden, dead].some((n) => n > 0),
  );
  const lines = [`${ended}: ${parts.join(', ')}.`];
  if (left.length === 0) return [...lines, 'The queues are empty.'].join('\n');
  const table = ui.table(left, [
    { title: 'queue', value: ([name]) => name },
    { title: 'ready', align: 'right', value: ([, { ready }]) => String(ready) },
    { title: 'delayed', align: 'right', value: ([, { delayed }]) => String(delayed) },
    { title: 'hidden', align: 'right', value: ([, { hidden }]) => String(hidden) },
    {
      title: 'dead',
      align: 'right',
      value: ([, { dead }]) => String(dead),
      style: ([, { dead }]) => (dead > 0 ? 'red' : null),
    },
  ]);
  return [...lines, table].join('\n');
}
