/** Events as structured log lines. Payloads are never part of an event; fields that look like secrets are masked. */

import type { Logger } from 'pino';
import { type EventListener, isWait, type LongshoreEvent } from '../core/base/events.ts';
import { stackOf } from '../core/base/failure.ts';
import { masked } from '../core/base/mask.ts';

export function logTo(logger: Logger): EventListener {
  return (event) => {
    const { type, ...rest } = event;
    if (type === 'job.enqueued') return; // a batch would write as many lines as it has children
    const facts: Record<string, unknown> = { event: type };
    for (const [name, value] of Object.entries(rest)) {
      if (value === null || name === 'cause') continue; // `error` describes it; `cause` may be any value
      if (value instanceof Error) facts.error = `${'code' in value ? `${value.code}: ` : ''}${value.message}`;
      else if (name !== 'message') facts[name] = name === 'fields' ? masked(value) : value; // the message is the text of the log line
    }
    const stack = stackOf(event);
    if (stack !== null) facts.stack = stack;
    logger[levelOf(event)](facts, textOf(event));
  };
}

/** Least important first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export function levelOf(event: LongshoreEvent): LogLevel {
  switch (event.type) {
    case 'job.started':
    case 'schedule.checked':
      return 'debug';
    case 'job.settled':
      if (!event.settled) return 'warn';
      if (isWait(event)) return 'debug';
      if (event.outcome === 'acked' || event.outcome === 'skipped-idempotent') return 'info';
      return event.outcome === 'requeued' ? 'warn' : 'error';
    case 'schedule.skipped':
      return event.reason === 'paused' ? 'info' : 'warn';
    case 'job.warning':
    case 'backend.warning':
    case 'worker.memory':
    case 'worker.reaped':
    case 'key.development':
    case 'schedule.late':
    case 'breaker.opened':
    case 'ping.failed':
    case 'alert.unavailable':
    case 'enqueue.failed-over':
      return 'warn';
    case 'alert.firing':
      return event.severity === 'critical' ? 'error' : 'warn';
    case 'backend.failed':
    case 'store.failed':
    case 'outbox.refused':
    case 'schedule.failed':
    case 'hook.failed':
    case 'alert.failed':
    case 'http.failed':
      return 'error';
    default:
      return 'info';
  }
}

function textOf(event: LongshoreEvent): string {
  switch (event.type) {
    case 'job.started':
      return `${event.job} started`;
    case 'job.settled':
      if (!event.settled) return `${event.job} lost its lease`;
      return `${event.job || 'message'} ${event.waits ?? event.outcome}`;
    case 'job.log':
    case 'job.warning':
    case 'backend.warning':
      return event.message;
    case 'alert.firing':
    case 'alert.resolved':
    case 'alert.unavailable':
      return `${event.type.replace('.', ' ')}: ${event.alert}: ${event.message}`;
    case 'breaker.opened':
    case 'breaker.closed':
      return `${event.type.replace('.', ' ')} (${event.job})`;
    case 'schedule.skipped':
      return `${event.schedule} skipped (${event.reason})`;
    case 'key.development':
      return 'signing with a development key; set LONGSHORE_SIGNING_KEYS in production';
    case 'enqueue.failed-over':
      return `${event.backend} does not answer; its jobs went to ${event.to}`;
    case 'worker.memory':
      return 'memory has grown; look for a handler that keeps what it loads';
    default:
      return event.type.replace('.', ' ');
  }
}
