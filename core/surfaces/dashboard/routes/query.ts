/** What stands behind the `?` of a request, checked. All throw `OPTION`. */

import { latestMs } from '../../../base/clock.ts';
import { LongshoreError, shown } from '../../../base/errors.ts';
import { isStorable } from '../../../base/json.ts';
import { hint } from '../../../base/nearest.ts';

type Parse<T> = (text: string, name: string) => T;
type Parsed<Spec> = { readonly [Name in keyof Spec]?: Spec[Name] extends Parse<infer T> ? T : never };

/** The members that were given. One that is empty was left out. */
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

/** Epoch ms. */
export const moment = integer(0, latestMs);

export const oneOf =
  <const T extends string>(values: readonly T[]): Parse<T> =>
  (given, name) => {
    const value = values.find((one) => one === given);
    if (value !== undefined) return value;
    throw wrong(`${name} to be one of ${values.join(', ')}, got ${shown(given)}.${hint(given, values)}`);
  };

/** Of lists. What `after` may be is for their stores to say. */
export const pageQuery = { max: integer(1, 500), after: (given: string) => given };

/** For routes that take none. */
export const noQuery = (url: URL): void => void queryOf(url, {});

export const wrong = (expected: string): LongshoreError =>
  new LongshoreError('OPTION', `Expected ${expected}`);
