/** The first Ctrl-C asks for an orderly end, a second one leaves at once. */

export interface StopRequest {
  readonly signal: AbortSignal;
  /** Signals mean again what they mean without us. */
  release(): void;
}

/** `npm run` forwards a Ctrl-C that the terminal has already delivered: within so long it is the same key press. */
const sameKeyPressMs = 250;

export function stopOnSignals(): StopRequest {
  const controller = new AbortController();
  let firstAt: number | null = null;
  const onSignal = () => {
    if (firstAt !== null && Date.now() - firstAt > sameKeyPressMs) process.exit(130);
    firstAt ??= Date.now();
    controller.abort();
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const name of signals) process.on(name, onSignal);
  return {
    signal: controller.signal,
    release() {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}
