/** A service. Its first call loads the SDK and opens the client. */
export interface Service<Api> {
  api(): Promise<Api>;
  /** Runs `work`. @param during for the message of an error, like `keeping a payload` */
  call<T>(during: string, work: (api: Api) => Promise<T>): Promise<T>;
  /** Closes the client. A later call opens it again. */
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
      opening = null; // a missing setting or identity may be there the next time
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
