/** A proxy of a backend and its stores. Every call of a process passes a gate, which may hold it, refuse it or lose its answer. */

/** Handles a call such as `fetch`, `stores.keys.claim` or `admin.stats`. `make` makes the call. */
export type Gate = (call: string, args: readonly unknown[], make: () => Promise<unknown>) => Promise<unknown>;

/** These methods answer at once, without a call to a server. */
const local: ReadonlySet<string> = new Set(['keepsOrder', 'onWarning', 'watchEnd', 'watchLeases', 'within']);

/** @param path of the target below the backend */
export function behind<T extends object>(target: T, gate: Gate, path = ''): T {
  const parts = new Map<PropertyKey, unknown>();
  return new Proxy(target, {
    get(_, key) {
      const known = parts.get(key);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(target, key);
      const part = partOf(target, value, gate, `${path}${String(key)}`);
      if (part !== value) parts.set(key, part);
      return part;
    },
  });
}

function partOf(owner: object, value: unknown, gate: Gate, path: string): unknown {
  if (typeof value === 'function') {
    // Returns another view of records, whose methods are calls too.
    if (path === 'recordsOf')
      return (...args: unknown[]) => behind(value.apply(owner, args) as object, gate, 'stores.records.');
    if (local.has(path.slice(path.lastIndexOf('.') + 1))) return value.bind(owner);
    return (...args: unknown[]) => gate(path, args, async () => value.apply(owner, args));
  }
  const isPart =
    typeof value === 'object' && value !== null && /^(stores|admin|pending|hints|writer)/.test(path);
  return isPart && !Array.isArray(value) ? behind(value, gate, `${path}.`) : value;
}
