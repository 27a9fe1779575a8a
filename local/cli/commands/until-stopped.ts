/** Stops a long-running command at a signal. */

import { signalCounter } from '../../../core/base/signals.ts';
import type { Input } from '../definition.ts';

/** Aborts `work` at the first process signal. The second one exits the process. */
export async function untilStopped<T>(
  { io }: Pick<Input, 'io'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const count = signalCounter(io.clock);
  const onSignal = () => {
    if (count() === 'second') process.exit(130);
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
