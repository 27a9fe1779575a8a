/** What a backend warns of, for `QueueBackend.onWarning`. */

export interface Warnings {
  warn(message: string): void;
  onWarning(listener: (message: string) => void): () => void;
}

/** Warnings go to the first listener alone: an app that connects twice must not hear them twice. Those before it are kept for it. */
export function createWarnings(): Warnings {
  const listeners = new Set<(message: string) => void>();
  let early: string[] = [];
  return {
    warn(message) {
      const [first] = listeners;
      if (first) first(message);
      else early.push(message);
    },
    onWarning(listener) {
      listeners.add(listener);
      const messages = early;
      early = [];
      for (const message of messages) listener(message);
      return () => listeners.delete(listener);
    },
  };
}
