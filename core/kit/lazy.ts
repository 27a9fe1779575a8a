/** Loads code at its first use. A function starts with every cold call, so it loads no more than most jobs need. */
export function onDemand<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null;
  return () => {
    loading ??= load().catch((error) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

type Verb = (...args: unknown[]) => Promise<unknown>;

/** An object of which each verb first asks for the real one. */
export function verbsOf<T>(verbs: readonly (keyof T & string)[], real: () => Promise<T>): T {
  const entries = verbs.map((verb) => [
    verb,
    async (...args: unknown[]) => ((await real())[verb] as Verb)(...args),
  ]);
  return Object.fromEntries(entries) as T;
}
