/** Environments of one function: each runs one invocation at a time in a process that is kept for the next one. */

import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts';

export type Environments = ReturnType<typeof createEnvironments>;

export function createEnvironments(options: RuntimeOptions, most: number) {
  const free: Runtime[] = [];
  const all: Runtime[] = [];
  const waiting: (() => void)[] = [];
  let busy = 0;

  /** Waits for a free environment first. */
  async function inOne<T>(work: (runtime: Runtime) => Promise<T>): Promise<T> {
    while (busy >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    busy++;
    let runtime = free.pop();
    try {
      if (!runtime) {
        runtime = await startRuntime(options);
        all.push(runtime);
      }
      return await work(runtime);
    } finally {
      busy--;
      if (runtime) free.push(runtime);
      waiting.shift()?.();
    }
  }

  return {
    /** Invocations under way. */
    running: () => busy,
    /** Rejects with an InitError where the function does not load. */
    start: () => inOne((runtime) => runtime.ready()),
    invoke: (event: unknown, timeoutMs: number, traceHeader?: string) =>
      inOne((runtime) => runtime.invoke(event, timeoutMs, traceHeader)),
    async stop() {
      await Promise.all(all.map((runtime) => runtime.stop()));
    },
  };
}
