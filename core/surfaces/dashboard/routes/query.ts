/** Validates members of a query and of a body. All throw `OPTION`. */

import { latestMs } from '../../../base/clock.ts';
import { LongshoreError, shown } from '../../../base/errors.ts';
import { isStorable } from '../../../base/json.ts';
import { hint } from '../../../base/nearest.ts';
import { faultOf, isKept } from '../../../base/text.ts';
import type { StoredPayload } from '../../../kit/records/payload.ts';
import { Refusal } from '../../http/problem.ts';
import type { Unavailable } from '../api.ts';

type Parse<T> = (text: string, name: string) => T;
type Parsed<Spec> = { readonly [Name in keyof Spec]?: Spec[Name] extends Parse<infer T> ? T : never };

/** The members of the query. An empty one counts as missing. */
export function queryOf<const Spec extends Readonly<Record<string, Parse<unknown>>>>(
  url: URL,
  spec: Spec,
): Parsed<Spec> {
  const found: Record<string, unknown> = {};
  for (const [name, text] of url.searchParams) {
    const parse = Object.hasOwn(spec, name) ? spec[name] : undefined;
    if (!parse) throw wrong(`a query of known members, got ${shown(name)}.${hint(name, Object.keys(spec))}`);
    if (Object.hasOwn(found, name)) throw wrong(`${name} once in the query, got it twice.`);
    if (text !== '') found[name] = parse(text, name);
  }
  return found as Parsed<Spec>;
}

const longestText = 500;

export const text: Parse<string> = (given, name) => {
  if (given.length <= longestText && isStorable(given)) return given;
  throw wrong(`${name} to have at most ${longestText} characters, none of them U+0000, got another.`);
};

export const integer =
  (least: number, most: number): Parse<number> =>
  (given, name) => {
    const value = Number(given);
    if (/^\d{1,16}$/.test(given) && value >= least && value <= most) return value;
    throw wrong(`${name} to be an integer from ${least} to ${most}, got ${shown(given)}.`);
  };

/** A time in epoch ms. */
export const moment = integer(0, latestMs);

export const oneOf =
  <const T extends string>(values: readonly T[]): Parse<T> =>
  (given, name) => {
    const value = values.find((one) => one === given);
    if (value !== undefined) return value;
    throw wrong(`${name} to be one of ${values.join(', ')}, got ${shown(given)}.${hint(given, values)}`);
  };

/** The query of lists. Their stores validate `after`. */
export const pageQuery = { max: integer(1, 500), after: (given: string) => given };

/** For routes without a query. */
export const noQuery = (url: URL): void => void queryOf(url, {});

export const wrong = (expected: string): LongshoreError =>
  new LongshoreError('OPTION', `Expected ${expected}`);

type Check<T> = (value: unknown, name: string) => T;
type Checked<Spec> = { readonly [Name in keyof Spec]?: Spec[Name] extends Check<infer T> ? T : never };

export function membersOf<const Spec extends Readonly<Record<string, Check<unknown>>>>(
  value: unknown,
  what: string,
  spec: Spec,
): Checked<Spec> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(`${what} to be an object, got ${shown(value)}.`);
  const found: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const check = Object.hasOwn(spec, name) ? spec[name] : undefined;
    if (!check)
      throw wrong(`${what} to have known members, got ${shown(name)}.${hint(name, Object.keys(spec))}`);
    found[name] = check(member, name);
  }
  return found as Checked<Spec>;
}

export const anything: Check<unknown> = (value) => value;

export const flag: Check<boolean> = (value, name) => {
  if (typeof value === 'boolean') return value;
  throw wrong(`${name} to be true or false, got ${shown(value)}.`);
};

export const textMember: Check<string> = (value, name) => {
  if (isKept(value, 500)) return value;
  throw wrong(`${name} to be a text ${faultOf(value, 500)}.`);
};

const numbers =
  (kind: string, fits: (value: unknown) => boolean) =>
  (least: number, most: number): Check<number> =>
  (value, name) => {
    if (fits(value) && (value as number) >= least && (value as number) <= most) return value as number;
    throw wrong(`${name} to be ${kind} from ${least} to ${most}, got ${shown(value)}.`);
  };
export const numberMember = numbers('a number', Number.isFinite);
export const integerMember = numbers('an integer', Number.isSafeInteger);

const mostCharacters = 262_144;

export const wholeQuery = { whole: oneOf(['true', 'false']) };

export interface Whole {
  readonly whole?: 'true' | 'false';
}

export function sentPayload(payload: StoredPayload, { whole }: Whole): StoredPayload | Unavailable {
  const characters = JSON.stringify(payload.value ?? null).length;
  if (whole === 'true' || characters <= mostCharacters) return payload;
  return { ...unavailable(`The payload has ${characters} characters. Load it whole to see it.`), characters };
}

/** Returns `name` if it is in `known`. Otherwise throws 404 and suggests the most similar name. */
export function knownName(what: string, name: string, known: readonly string[]): string {
  if (known.includes(name)) return name;
  throw new Refusal(404, 'NOT_FOUND', `There is no ${what} ${shown(name)} here.${hint(name, known)}`);
}

export const missing = (what: string, id: string): Refusal =>
  new Refusal(404, 'NOT_FOUND', `There is no ${what} ${shown(id)} here any more, or there never was.`);

export const unavailable = (why: string): Unavailable => ({ unavailable: why });

export const noLimits = (backend: string): Unavailable =>
  unavailable(
    `Backend "${backend}" keeps no limits: give the dashboard and the workers a store, for example sqliteStore().`,
  );

export const noAdmin = (backend: string): Unavailable =>
  unavailable(
    `Backend "${backend}" offers no administration: look at its queues with the broker's own tools.`,
  );
