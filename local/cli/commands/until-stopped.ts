/** Stops a long-running command at a signal. */

import type { Input } from '../definition.ts';

/** `npm exec` forwards a Ctrl-C that the terminal has already delivered. Two signals within this time count as one. */
const sameKeyPressMs = 250;

/** Aborts `work` at the first process signal. The second one exits the process. */
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
