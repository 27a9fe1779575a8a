/** Environments of one function: each runs one invocation at a time in a process that is kept for the next one. */

import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts';

export interface Environments {
  /** Rejects with an InitError where the function does not load. */
  start(): Promise<void>;
  /** Waits for a free environment first. */
  invoke(event: unknown, timeoutMs: number): Promise<unknown>;
  /** Invocations under way. */
  running(): number;
  stop(): Promise<void>;
}

export function createEnvironments(options: RuntimeOptions, most: number): Environments {
  const free: Runtime[] = [];
  const all: Runtime[] = [];
  const waiting: (() => void)[] = [];
  let busy = 0;

  async function take(): Promise<Runtime> {
    while (busy >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    busy++;
    const kept = free.pop();
    if (kept) return kept;
    try {
      const made = await startRuntime(options);
      all.push(made);
      return made;
    } catch (error) {
      release(null);
      throw error;
    }
  }

  function release(runtime: Runtime | null): void {
    busy--;
    if (runtime) free.push(runtime);
    waiting.shift()?.();
  }

  return {
    running: () => busy,
    async start() {
      const runtime = await take();
      try {
        await runtime.ready();
      } finally {
        release(runtime);
      }
    },
    async invoke(event, timeoutMs) {
      const runtime = await take();
      try {
        return await runtime.invoke(event, timeoutMs);
      } finally {
        release(runtime);
      }
    },
    async stop() {
      await Promise.all(all.map((runtime) => runtime.stop()));
    },
  };
}
