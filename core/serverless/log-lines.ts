/** Writes events as JSON lines, whose fields the log services of both clouds can search. Events never contain payloads. */

import { type EventListener, isWait, type LongshoreEvent } from '../base/events.ts';
import { stackOf } from '../base/failure.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export function logLines(write: (line: string, level: LogLevel) => void): EventListener {
  return (event) => {
    const { type, ...rest } = event;
    if (type === 'job.enqueued') return; // a batch would write a line per child
    const level = levelOf(event);
    const facts: Record<string, unknown> = { level, event: type };
    for (const [name, value] of Object.entries(rest)) {
      if (value === null || name === 'cause') continue; // `error` has its text; `cause` may be any value
      facts[name] = value instanceof Error ? textOf(value) : value;
    }
    const stack = stackOf(event);
    if (stack !== null) facts.stack = stack;
    write(`${JSON.stringify(facts)}\n`, level);
  };
}

const warning = /\.(warning|opened|firing|skipped|late|unavailable|development)$/;

function levelOf(event: LongshoreEvent): LogLevel {
  if (event.type === 'job.started') return 'debug';
  if (event.type.endsWith('.failed')) return 'error';
  if (event.type === 'alert.firing' && event.severity === 'critical') return 'error';
  if (warning.test(event.type)) return 'warn';
  if (event.type !== 'job.settled') return 'info';
  if (isWait(event)) return 'debug';
  if (!event.settled || event.outcome === 'requeued') return 'warn';
  return event.outcome === 'acked' || event.outcome === 'skipped-idempotent' ? 'info' : 'error';
}

const textOf = (error: Error): string =>
  'code' in error ? `${error.code}: ${error.message}` : error.message;
