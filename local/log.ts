/** Events as structured log lines. Payloads are never part of an event; fields that look like secrets are masked. */

import type { Logger } from 'pino';
import type { EventListener, LongshoreEvent } from '../core/base/events.ts';

export function logTo(logger: Logger): EventListener {
  return (event) => {
    const { type, ...rest } = event;
    const facts: Record<string, unknown> = { event: type };
    for (const [name, value] of Object.entries(rest)) {
      if (value === null || name === 'cause') continue; // `error` tells of it; it may be anything
      if (value instanceof Error) facts.error = `${'code' in value ? `${value.code}: ` : ''}${value.message}`;
      else if (name !== 'message') facts[name] = name === 'fields' ? masked(value) : value; // the text is there once
    }
    logger[levelOf(event)](facts, textOf(event));
  };
}

function levelOf(event: LongshoreEvent): 'debug' | 'info' | 'warn' | 'error' {
  switch (event.type) {
    case 'job.started':
    case 'schedule.checked':
      return 'debug';
    case 'job.settled':
      if (!event.settled) return 'warn';
      if (event.outcome === 'acked' || event.outcome === 'skipped-idempotent') return 'info';
      return event.outcome === 'requeued' ? 'warn' : 'error';
    case 'job.warning':
    case 'backend.warning':
    case 'worker.memory':
    case 'worker.reaped':
    case 'key.development':
      return 'warn';
    case 'backend.failed':
    case 'store.failed':
    case 'outbox.refused':
    case 'schedule.failed':
    case 'hook.failed':
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
      return event.settled ? `${event.job || 'message'} ${event.outcome}` : `${event.job} lost its lease`;
    case 'job.log':
    case 'job.warning':
    case 'backend.warning':
      return event.message;
    case 'key.development':
      return 'signing with a development key; set LONGSHORE_SIGNING_KEYS in production';
    case 'worker.memory':
      return 'memory has grown; look for a handler that keeps what it loads';
    default:
      return event.type.replace('.', ' ');
  }
}

const secretName =
  /pass(word|wd|phrase)?$|pwd|secret|token|jwt|bearer|csrf|otp$|dsn$|(api|private|access)[-_]?key|connection[-_]?string|session[-_]?id|authorization|cookie|credential|^pin$|^cvv$/i;
const deepest = 6;

/** What JSON.stringify would print of it. */
function jsonOf(value: object): unknown {
  try {
    return 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;
  } catch {
    return '[unreadable]';
  }
}

/** A copy in which every value under a secret-looking name reads `[masked]`. */
export function masked(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= deepest) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => masked(item, depth + 1));
  if (value instanceof Error) return value.message;
  const own = jsonOf(value);
  if (own !== value) return masked(own, depth + 1);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      secretName.test(name) ? '[masked]' : masked(member, depth + 1),
    ]),
  );
}
