/** The warnings of a backend, for `QueueBackend.onWarning`. */

export type Warnings = ReturnType<typeof createWarnings>;

/** Warnings go only to the first listener, so that an app that connects twice gets each one once. Earlier warnings are kept for it. */
export function createWarnings() {
  const listeners = new Set<(message: string) => void>();
  let early: string[] = [];
  return {
    warn(message: string): void {
      const [first] = listeners;
      if (first) first(message);
      else early.push(message);
    },
    onWarning(listener: (message: string) => void): () => void {
      listeners.add(listener);
      const messages = early;
      early = [];
      for (const message of messages) listener(message);
      return () => listeners.delete(listener);
    },
  };
}
