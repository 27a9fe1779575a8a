/** What a change was sent, checked. All throw `OPTION`. */

import { shown } from '../../../base/errors.ts';
import { hint } from '../../../base/nearest.ts';
import { faultOf, isKept } from '../../../base/text.ts';
import { wrong } from './query.ts';

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
