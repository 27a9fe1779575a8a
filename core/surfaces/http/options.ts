/** What a caller may say about one job beside its payload, from a query or from an item of a batch. */

import { shown } from '../../base/errors.ts';
import { type Priority, priorities } from '../../base/priority.ts';
import type { BackendLimits } from '../../contract/queue.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { EnqueueOptions } from '../../kernel/app/options.ts';
import { longestDelayMs } from '../../kernel/app/retry.ts';
import { Refusal } from './problem.ts';

const inQuery = ['delayMs', 'runAt', 'priority', 'queue', 'maxRetries'] as const;
const inItem = [...inQuery, 'idempotencyKey'] as const;

type Settable = (typeof inItem)[number];
type Options = Pick<EnqueueOptions, Settable>;
type Raw = Readonly<Record<string, unknown>>;

/** A caller can bind a queue's storage for no longer than `longestDelayMs`, nor make a broken job run for ever. */
const mostRetries = 100;

export interface OptionRules {
  readonly app: App;
  readonly limits: BackendLimits;
  readonly job: Job;
  /** Whether the caller is bound to some jobs: then it does not learn the names of other queues. */
  readonly isBound: boolean;
}

export function optionsOfQuery(url: URL, request: Request, rules: OptionRules): Options {
  const raw: Record<string, unknown> = Object.create(null); // else "__proto__" would set it instead of being refused
  for (const name of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(name);
    if (values.length > 1) throw wrong(`"${name}" once in the query`, `${values.length} of it`, 'Send one');
    // Numbers of a query are texts; what is not plainly one stays a text and is refused as such.
    const [text = ''] = values;
    raw[name] =
      ['delayMs', 'maxRetries', 'priority'].includes(name) && /^\d{1,16}$/.test(text) ? Number(text) : text;
  }
  const options = readOptions(raw, inQuery, 'in the query', rules);
  const key = request.headers.get('idempotency-key');
  return key === null ? options : { ...options, idempotencyKey: keyOf(key, 'the header Idempotency-Key') };
}

export function optionsOfItem(value: unknown, rules: OptionRules): Options {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong('"options" to be an object', shown(value), 'Leave it out for the defaults');
  }
  return readOptions(value as Raw, inItem, 'in "options"', rules);
}

/** Of a job that waits. */
export const optionsOfChange = (raw: Raw, rules: OptionRules): Options =>
  readOptions(raw, ['delayMs', 'runAt', 'priority'], 'beside payload', rules);

function readOptions(raw: Raw, names: readonly Settable[], where: string, rules: OptionRules): Options {
  const unknown = Object.keys(raw).find((name) => !names.includes(name as Settable));
  if (unknown !== undefined) {
    throw wrong(`only ${names.join(', ')} ${where}`, shown(unknown), 'Remove it');
  }
  if (raw.delayMs !== undefined && raw.runAt !== undefined) {
    throw wrong(`either delayMs or runAt ${where}`, 'both', 'Remove one');
  }
  const options: { -readonly [K in Settable]?: Options[K] } = {};
  const { delayMs, runAt, priority, queue, maxRetries, idempotencyKey } = raw;
  if (delayMs !== undefined) options.delayMs = delayOf(delayMs, where, rules);
  if (runAt !== undefined) options.runAt = momentOf(runAt, where, rules);
  if (priority !== undefined) options.priority = priorityOf(priority, where);
  if (queue !== undefined) options.queue = queueOf(queue, where, rules);
  if (maxRetries !== undefined) {
    if (!isCount(maxRetries) || maxRetries > mostRetries) {
      const expected = `maxRetries ${where} to be an integer from 0 to ${mostRetries}`;
      throw wrong(expected, shown(maxRetries), 'Leave it out for what the job says');
    }
    options.maxRetries = maxRetries;
  }
  if (idempotencyKey !== undefined) options.idempotencyKey = keyOf(idempotencyKey, `idempotencyKey ${where}`);
  return options;
}

function delayOf(value: unknown, where: string, rules: OptionRules): number {
  const most = mostDelayMs(rules);
  if (isCount(value) && value <= most) return value;
  throw wrong(
    `delayMs ${where} to be an integer from 0 to ${most}`,
    shown(value),
    'Leave it out to run at once',
  );
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i;

function momentOf(value: unknown, where: string, rules: OptionRules): Date {
  const [, year, month, day] = (typeof value === 'string' && rfc3339.exec(value)) || [];
  const moment = new Date(String(value));
  // `new Date` takes the 30th of February for the 2nd of March.
  const exists = new Date(`${year}-${month}-${day}T00:00:00Z`).getUTCDate() === Number(day);
  if (year === undefined || !exists || Number.isNaN(moment.getTime())) {
    const expected = `runAt ${where} to be a moment like 2026-01-31T12:00:00Z (RFC 3339)`;
    throw wrong(expected, shown(value), 'In a query a "+" of an offset is written %2B');
  }
  const most = mostDelayMs(rules);
  if (moment.getTime() - rules.app.clock.now() > most) {
    throw wrong(
      `runAt ${where} at most ${most} ms from now`,
      shown(value),
      'Use a schedule for what is further away',
    );
  }
  return moment;
}

const mostDelayMs = ({ limits }: OptionRules): number =>
  Math.min(longestDelayMs, limits.maxDelayMs ?? longestDelayMs);

function priorityOf(value: unknown, where: string): Priority {
  if (isCount(value) && value <= 9) return value;
  if (typeof value === 'string' && Object.hasOwn(priorities, value)) return value as keyof typeof priorities;
  const expected = `priority ${where} to be ${Object.keys(priorities).join(', ')} or an integer from 0 (first) to 9`;
  throw wrong(expected, shown(value), 'Leave it out for what the job says');
}

/** Only queues of the app: in any other the job would wait for ever, and every name would leave a trace in the storage. */
function queueOf(value: unknown, where: string, { app, job, isBound }: OptionRules): string {
  const queues = app.queues.filter((queue) => app.accepts.get(queue)?.has(job.name) !== false);
  if (typeof value === 'string' && queues.includes(value)) return value;
  const named = isBound ? '' : ` (${queues.join(', ') || 'none'})`;
  const expected = `queue ${where} to be one that takes job "${job.name}"${named}`;
  throw wrong(expected, shown(value), 'Leave it out for what the job says');
}

const visible = /^[\x21-\x7e]{1,256}$/;

/** As it is, or in the quotes that a structured header field has. */
function keyOf(value: unknown, where: string): string {
  const key = typeof value === 'string' ? (/^"([^"\\]*)"$/.exec(value)?.[1] ?? value) : '';
  // Such a job would take the place of a schedule's own, which is then skipped as a copy, and stand in its history.
  if (key.startsWith('schedule:')) {
    throw wrong(
      `${where} not to begin with "schedule:", as the keys of schedules do`,
      shown(value),
      'Send a UUID, for example',
    );
  }
  if (visible.test(key)) return key;
  throw wrong(
    `${where} to have 1 to 256 visible ASCII characters and no space`,
    shown(value),
    'Send a UUID, for example',
  );
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function wrong(expected: string, got: string, remedy: string): Refusal {
  return new Refusal(400, 'OPTION', `Expected ${expected}, got ${got}. ${remedy}.`);
}
