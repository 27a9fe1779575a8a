/** Signals that end a command which otherwise goes on for ever. */

import type { Input } from '../definition.ts';

/** `npm exec` passes a Ctrl-C on that the terminal has delivered already: within so long it is the same. */
const sameKeyPressMs = 250;

/** Aborts the signal of `work` at the first signal; a second one ends the process, and what it has started with it. */
export async function untilStopped<T>(
  { io }: Pick<Input, 'io'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let firstAt: number | null = null;
  const onSignal = () => {
    const now = io.clock.now();
    if (firstAt !== null && now - firstAt > sameKeyPressMs) process.exit(130);
    firstAt ??= now;
    controller.abort();
  };
  for (const name of io.signals) process.on(name, onSignal);
  io.hungUp.addEventListener('abort', onSignal);
  if (io.hungUp.aborted) onSignal();
  try {
    return await work(controller.signal);
  } finally {
    for (const name of io.signals) process.off(name, onSignal);
    io.hungUp.removeEventListener('abort', onSignal);
  }
}
