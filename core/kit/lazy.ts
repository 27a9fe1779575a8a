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

/** A service whose SDK is loaded, and whose client is opened, with the first call. */
export interface Service<Api> {
  api(): Promise<Api>;
  /** Runs `work`; an error says what it happened `during`. */
  call<T>(during: string, work: (api: Api) => Promise<T>): Promise<T>;
  /** Closes what was opened. A later call opens it again. */
  close(): Promise<void>;
}

/** @param failure what to throw instead of the SDK's own error */
export function serviceOf<Api>(
  open: () => Promise<Api & { close?(): unknown }>,
  failure: (during: string, error: unknown) => Error | Promise<Error>,
): Service<Api> {
  let opening: ReturnType<typeof open> | null = null;
  function api(): Promise<Api> {
    opening ??= open().catch((error) => {
      opening = null; // a setting or an identity that is missing may be there the next time
      throw error;
    });
    return opening;
  }
  return {
    api,
    async call(during, work) {
      try {
        return await work(await api());
      } catch (error) {
        throw await failure(during, error);
      }
    },
    async close() {
      const opened = opening;
      opening = null;
      await (await opened?.catch(() => null))?.close?.();
    },
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
