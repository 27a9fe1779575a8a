type Verb = (...args: never[]) => unknown;
export interface Fate {
  calls: number;
  readonly diesAt: number;
  readonly when: 'before' | 'after';
  /** What was called, where it is asked for. */
  readonly names?: string[];
}

/** Every call counts; the one of fate and all after it fail, as for a process that is gone. */
export function mortal<T extends object>(target: T, fate: Fate, side = ''): T {
  return new Proxy(target, {
    get(object, name, receiver) {
      const value: unknown = Reflect.get(object, name, receiver);
      if (typeof value === 'object' && value !== null) return mortal(value, fate, side);
      if (typeof value !== 'function') return value;
      return async (...args: never[]) => {
        const now = ++fate.calls;
        fate.names?.push(`${side} ${String(name)}`);
        if (now > fate.diesAt || (now === fate.diesAt && fate.when === 'before')) throw new Error('killed');
        const result = await (value as Verb).apply(object, args);
        if (now === fate.diesAt) throw new Error('killed');
        return result;
      };
    },
  });
}
