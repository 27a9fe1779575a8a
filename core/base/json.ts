import { LongshoreError, shown } from './errors.ts';

/** Deepest nesting of arrays and objects in a payload. Deeper data is nearly always a cycle or an attack. */
export const maxDepth = 64;

/**
 * Refuses values that `JSON.parse(JSON.stringify(value))` would change (functions, dates, maps, NaN, cycles), and dangerous input (`__proto__`
 * as a key, extreme nesting). Properties whose value is `undefined` are allowed: JSON leaves them out.
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
    // Build the path only for nested or wrong members: most are neither.
    if (!isScalar(member) && member !== undefined) assertJson(member, `${path}.${key}`, depth + 1);
  }
}

/** Whether it is the `Object.prototype` of another realm: in Jest, `fetch().json()` and `structuredClone()` have their own. */
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

/** Whether every queue and store can keep the text unchanged: no half of a surrogate pair, which UTF-8 cannot encode, and no U+0000. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Escapes U+2028 and U+2029 in JSON. Not every store accepts them raw: Azurite refuses a transaction that contains one. */
export const withoutSeparators = (json: string): string =>
  json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

const quotedNames = new Map<string, string>();
const mostNames = 1_000;

/** The name as JSON, cached. For names of jobs, queues and keys, of which a program has few. */
export function quoted(name: string): string {
  let text = quotedNames.get(name);
  if (text === undefined) {
    if (quotedNames.size === mostNames) quotedNames.clear();
    text = JSON.stringify(name);
    quotedNames.set(name, text);
  }
  return text;
}
