/**
 * `longshore dev`: runs the worker as a process of its own, and runs it again when a file that it imports has changed. It loads no
 * code of the app itself.
 */

import { changed } from '../cli/watch/changed.ts';
import type { SupervisorCalls, WorkerCalls } from './calls.ts';
import { startChild } from './child.ts';

/**
 * Resolves with the exit code of the worker, after a signal to this process has ended it.
 * @param argv its file and what stands after it; @param note takes a line for people
 */
export async function supervise(argv: readonly string[], note: (text: string) => void): Promise<number> {
  const ending = new AbortController();
  const calls: Partial<SupervisorCalls> = { begin: () => ({ aheadMs: 0, hasFaults: false }) };
  const start = () => startChild<WorkerCalls>(argv, () => calls);
  let worker = start();
  const onSignal = (signal: NodeJS.Signals) => {
    ending.abort();
    worker.signal(signal === 'SIGINT' ? signal : 'SIGTERM'); // a worker takes a Ctrl-C that comes twice for one
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  for (;;) {
    let isWanted = true;
    void worker.ended.then(({ code, signal }) => {
      if (!isWanted || ending.signal.aborted) return;
      note(`It has ended with ${signal ?? `exit code ${code}`}. Save a file to run it again.`);
    });
    await changed(worker.stamps, ending.signal);
    isWanted = false;
    if (ending.signal.aborted) {
      await worker.end();
      return (await worker.ended).code ?? 0;
    }
    await worker.stop();
    if (!ending.signal.aborted) worker = start();
  }
}
