type Verbs<T> = { [Name in keyof T]: (...call: never) => Promise<unknown> };

/** Functions whose code is loaded with the first call. */
export function lazyVerbs<T extends Verbs<T>>(names: readonly (keyof T)[], load: () => Promise<T>): T {
  const verbs: Partial<Record<keyof T, unknown>> = {};
  for (const name of names) verbs[name] = async (...call: never) => (await load())[name](...call);
  return verbs as T;
}
