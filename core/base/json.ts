import { LongshoreError, shown } from './errors.ts';

/** Deepest nesting of arrays and objects in a payload. Deeper data is nearly always a cycle or an attack. */
export const maxDepth = 64;

/**
 * Refuses what would not come out of `JSON.parse(JSON.stringify(value))` as it went in (functions, dates, maps,
 * NaN, cycles), and what should not come in from outside (`__proto__` as a key, extreme nesting).
 * Properties whose value is `undefined` are allowed: JSON leaves them out.
 */
export function assertJson(value: unknown, path: string, depth = 0): void {
  if (isScalar(value)) return;
  if (typeof value !== 'object' || value === null) throw notJson(path, shown(value));
  if (depth >= maxDepth) {
    throw new LongshoreError(
      'LIMIT',
      `Expected at most ${maxDepth} levels of nesting, got more in ${cut(path)}.`,
    );
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (!isScalar(value[i])) assertJson(value[i], `${path}[${i}]`, depth + 1);
    }
    return;
  }
  const proto = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null && !isOtherRealms(proto)) {
    throw notJson(path, `a ${proto.constructor?.name ?? 'special object'}`);
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__') {
      throw new LongshoreError('PAYLOAD', `The key "__proto__" is not accepted, found in ${cut(path)}.`);
    }
    const member = (value as Record<string, unknown>)[key];
    // The path is only built for what is nested or wrong: most members are neither.
    if (!isScalar(member) && member !== undefined) assertJson(member, `${path}.${key}`, depth + 1);
  }
}

/** Whether it is the `Object.prototype` of another realm: `fetch().json()` and `structuredClone()` have theirs in Jest. */
const isOtherRealms = (proto: object): boolean =>
  Object.getPrototypeOf(proto) === null && Object.hasOwn(proto, 'isPrototypeOf');

function isScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' || typeof value === 'boolean' || value === null;
}

function notJson(path: string, got: string): LongshoreError {
  return new LongshoreError(
    'PAYLOAD',
    `Expected plain JSON data at ${cut(path)}, got ${got}. Send an id or a string and load the rest in the handler.`,
  );
}

const cut = (path: string): string => (path.length > 120 ? `${path.slice(0, 117)}...` : path);

/** Text that every queue and store can keep as it is: without half a surrogate pair, which UTF-8 has not, and without U+0000. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** JSON may escape them. Not every store takes them as they are: Azurite refuses a transaction that has one. */
export const withoutSeparators = (json: string): string =>
  json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

const quotedNames = new Map<string, string>();
const mostNames = 1_000;

/** As JSON. For what a program has few of, such as names of jobs, queues and keys. */
export function quoted(name: string): string {
  let text = quotedNames.get(name);
  if (text === undefined) {
    if (quotedNames.size === mostNames) quotedNames.clear();
    text = JSON.stringify(name);
    quotedNames.set(name, text);
  }
  return text;
}
