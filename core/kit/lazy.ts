/**
 * Code that is loaded at its first use. A function's start is paid for by every cold call, so what a job that succeeds
 * does not need stays out of it: requests to AWS, HTTP, schedules, dead letters.
 */
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
