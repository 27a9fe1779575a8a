/** Parsers of command line values. Each throws `InvalidArgumentError`, and commander adds the flag to its message. */

import { availableParallelism } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { namePattern } from '../../../core/base/checks.ts';
import { hint, nearest } from '../../../core/base/nearest.ts';
import { priorities, priorityOf } from '../../../core/base/priority.ts';

const timeUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const sizeUnits: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

/** `90s`, `15m`, `2h`, `7d`, `250ms` or plain milliseconds. */
export function duration(leastMs = 0): (text: string) => number {
  return (text) => {
    const value = measured(text, timeUnits, 'ms');
    if (value === null) throw wrong('a duration like 90s, 15m, 2h, 7d or plain milliseconds');
    if (value < leastMs) throw wrong(`at least ${leastMs} ms`);
    return value;
  };
}

/** `512mb`, `2gb` or plain bytes. */
export function size(text: string): number {
  const value = measured(text.toLowerCase(), sizeUnits, 'b');
  if (value === null || value < 1) throw wrong('a size like 512mb, 2gb or plain bytes');
  return value;
}

function measured(text: string, units: Readonly<Record<string, number>>, plain: string): number | null {
  const [, amount, unit = plain] = /^(\d+(?:\.\d+)?)([a-z]+)?$/.exec(text) ?? [];
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (amount === undefined || factor === undefined) return null;
  const value = Math.round(Number(amount) * factor);
  return Number.isSafeInteger(value) ? value : null;
}

export function integer(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most && Number.isSafeInteger(value)) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
    throw wrong(`an integer ${range}`);
  };
}

/** A number of processes; `auto` = the cores that this process may use. */
export function processes(text: string): number {
  if (text === 'auto') return availableParallelism();
  if (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= mostProcesses) return Number(text);
  throw wrong(`auto or an integer from 1 to ${mostProcesses}`);
}

const mostProcesses = 256;

export function oneOf<const T extends string>(names: readonly T[]): (text: string) => T {
  return (text) => {
    const found = names.find((name) => name === text);
    const near = nearest(text, names);
    if (found === undefined)
      throw wrong(`one of ${names.join(', ')}`, near === null ? '' : ` Did you mean "${near}"?`);
    return found;
  };
}

/** The name of a queue, job or schedule, or a key id. */
export function name(text: string): string {
  if (!namePattern.test(text)) throw wrong('1 to 128 of A-Z a-z 0-9 . _ -');
  return text;
}

/** `mail`, or `mail=4` for a queue with slots of its own. */
export function queueWithSlots(text: string): string {
  const at = text.indexOf('=');
  name(at < 0 ? text : text.slice(0, at));
  if (at >= 0) integer(1, 10_000)(text.slice(at + 1));
  return text;
}

export function kid(text: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(text)) throw wrong('1 to 64 of A-Z a-z 0-9 . _ -');
  return text;
}

/** A job's id, in the form that `newId` of an app may return. Refuses globs and paths. */
export const id = name;

export function priority(text: string): number {
  const names = Object.keys(priorities);
  if (/^\d$/.test(text)) return priorityOf(Number(text));
  const found = names.find((one) => one === text);
  if (found === undefined)
    throw wrong(`0 (first) to 9 (last) or one of ${names.join(', ')}`, hint(text, names));
  return priorityOf(found as keyof typeof priorities);
}

export function idempotencyKey(text: string): string {
  if (text.length === 0 || text.length > 256) throw wrong('1 to 256 characters');
  return text;
}

/** Any text of 1 to 1000 characters. */
export function words(text: string): string {
  if (text.length === 0 || text.length > 1_000) throw wrong('1 to 1000 characters');
  return text;
}

/** The time zone is required, because the worker may have another one than the user's machine. */
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;

export function moment(text: string): Date {
  const date = new Date(isoTime.test(text) ? text : Number.NaN);
  if (Number.isNaN(date.getTime())) {
    throw wrong('a moment with its time zone, like 2030-01-31T18:00:00Z or 2030-01-31T18:00+01:00');
  }
  return date;
}

function wrong(expected: string, more = ''): InvalidArgumentError {
  return new InvalidArgumentError(`Expected ${expected}.${more}`);
}

/** Removes members without a value. */
export const given = <T extends object>(
  members: T,
): { readonly [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
