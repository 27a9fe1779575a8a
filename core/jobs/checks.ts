/** Checks that the built-in jobs share: of their definitions (`CONFIG`) and, as a Standard Schema, of their payloads. */

import { checkInteger } from '../base/checks.ts';
import { config, shown } from '../base/errors.ts';
import type { JobDefinition } from '../kernel/app/job.ts';
import type { SchemaIssue, StandardSchema } from '../kernel/app/schema.ts';

/** The options of `defineJob` that a built-in job passes on. */
export type CommonOptions<Payload> = Partial<
  Pick<JobDefinition<StandardSchema<Payload>>, (typeof commonOptions)[number]>
>;

const commonOptions = [
  'name',
  'queue',
  'maxRetries',
  'retry',
  'timeoutMs',
  'priority',
  'idempotencyKey',
  'idempotencyKeepMs',
  'expiresInMs',
  'concurrency',
  'single',
  'rate',
  'breaker',
  'unique',
  'debounce',
  'keepPayload',
  'use',
] as const;

/** Refuses values that are no object, and unknown options: they are typing errors. */
export function checkOptions(factory: string, definition: unknown, own: readonly string[]): void {
  if (!isRecord(definition))
    throw config(`${factory}() expects an object of options, got ${shown(definition)}.`);
  const known: readonly string[] = [...commonOptions, ...own];
  const unknown = Object.keys(definition).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw config(`${factory}() has no option ${shown(unknown)}. Its options are ${known.join(', ')}.`);
  }
  for (const name of ['name', 'queue'] as const) {
    const value = definition[name];
    if (value !== undefined && typeof value !== 'string')
      throw config(`${factory}() expects ${name} to be a string, got ${shown(value)}.`);
  }
  for (const name of ['retry', 'idempotencyKey'] as const) checkFunction(factory, name, definition[name]);
}

export function checkFunction(factory: string, name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function')
    throw config(`${factory}() expects ${name} to be a function, got ${shown(value)}.`);
}

/** The options of `definition` that are for `defineJob`, without those that were left out. */
export function commonOf<Payload>(definition: CommonOptions<Payload>): CommonOptions<Payload> {
  const given = commonOptions.filter((name) => definition[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, definition[name]])) as CommonOptions<Payload>;
}

export function checkTexts(
  factory: string,
  name: string,
  value: unknown,
): asserts value is readonly string[] {
  if (!Array.isArray(value))
    throw config(`${factory}() expects ${name} to be a list of strings, got ${shown(value)}.`);
  for (const entry of value)
    if (typeof entry !== 'string')
      throw config(`${factory}() expects ${name} to be a list of strings, got ${shown(entry)} in it.`);
}

const mostKeptBytes = 32_768;

export function checkKeptBytes(what: string, bytes: number, least: number): void {
  checkInteger(what, bytes, least);
  if (bytes > mostKeptBytes)
    throw config(
      `Expected ${what} to be at most ${mostKeptBytes}, got ${bytes}: a record is a place for a summary.`,
    );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reports one fault of a payload. `message` says what was expected; it must never repeat the payload's text. */
export type Report = (path: readonly PropertyKey[], message: string) => void;

/** A schema that hands the payload on as it is when `check` reports nothing. */
export function payloadSchema<Payload>(
  members: readonly string[],
  check: (payload: Record<string, unknown>, report: Report) => void,
): StandardSchema<Payload> {
  return {
    '~standard': {
      version: 1,
      vendor: 'longshore',
      validate(value) {
        const issues: SchemaIssue[] = [];
        const report: Report = (path, message) => void issues.push({ path, message });
        if (!isRecord(value)) report([], `expected an object, got ${typeOf(value)}`);
        else {
          for (const name of Object.keys(value)) {
            if (!members.includes(name))
              report([], `has no member ${shown(name)}, its members are ${members.join(', ')}`);
          }
          check(value, report);
        }
        return issues.length > 0 ? { issues } : { value: value as Payload };
      },
    },
  };
}

/** The kind of a value, never its text: payloads do not belong in error messages. */
export function typeOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
