/**
 * `longshore dev`: runs the worker as a process of its own, and runs it again when a file that it imports has changed. It loads no
 * code of the app itself.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../core/base/clock.ts';
import { stampOf } from '../cli/watch/stamp.ts';
import { watchParent } from '../waiting.ts';
import type { DashboardCalls, Serve, SupervisorCalls, WorkerCalls } from './calls.ts';
import { type Child, startChild } from './child.ts';
import { createDashboardChild } from './dashboard-child.ts';
import { createFaults } from './faults.ts';

export interface SuperviseOptions {
  /** Takes a line for people. */
  note(text: string): void;
  /** Calls `act` whenever somebody types Enter, and returns how to stop that; Enter prints another link. `null`: there is no dashboard. */
  readonly keyboard: { onEnter(act: () => void): () => void } | null;
}

type WorkerChild = Child<WorkerCalls>;

/**
 * Resolves with the exit code of the worker, after a signal to this process has ended it.
 * @param argv its file and what stands after it
 */
export async function supervise(
  argv: readonly string[],
  { note, keyboard }: SuperviseOptions,
): Promise<number> {
  const ending = new AbortController();
  const hasDashboard = keyboard !== null;
  const dashboard = createDashboardChild({ note, start: startDashboard });
  const faults = createFaults({
    note,
    skip: dashboard.skip,
    worker: () => (worker.hasEnded() ? null : worker),
    startWorker: (ready) =>
      startWorker(async () => {
        ready();
        return null;
      }),
  });
  const startFirst = (): WorkerChild =>
    startWorker(async ({ isAlone }) =>
      hasDashboard && !ending.signal.aborted ? dashboard.ready(isAlone) : null,
    );

  const callsOf = (child: Child<DashboardCalls>, serve: Serve | null) =>
    ({
      begin: () => ({
        dashboard: serve,
        aheadMs: faults.aheadMs(),
        frozenPid: faults.frozenPid(),
        hasFaults: hasDashboard,
      }),
      serving: (served) => dashboard.serving(child, served),
      cause: ({ name }) => faults.cause(name),
    }) satisfies Partial<SupervisorCalls>;

  function startWorker(ready: SupervisorCalls['ready']): WorkerChild {
    return startChild<WorkerCalls>(argv, (child) => {
      const calls: SupervisorCalls = {
        ...callsOf(child, null),
        ready,
        caught: (attempt) => faults.caught(child, attempt),
      };
      return calls;
    });
  }

  function startDashboard(serve: Serve): Child<DashboardCalls> {
    const child = startChild<DashboardCalls>(argv, (self) => callsOf(self, serve));
    void child.ended.then(({ code }) => {
      if (code !== 0 && !ending.signal.aborted) note('The worker goes on without a dashboard.');
    });
    return child;
  }

  /** Resolves when the worker shall be started again, or when all shall end. */
  async function over(child: WorkerChild): Promise<void> {
    const killed = new AbortController();
    let isWanted = true;
    void child.ended.then(({ code, signal }) => {
      if (!isWanted || ending.signal.aborted) return;
      if (faults.hasKilled(child)) killed.abort();
      else note(`It has ended with ${signal ?? `exit code ${code}`}. Save a file to run it again.`);
    });
    await changed(child.stamps, AbortSignal.any([ending.signal, killed.signal]));
    isWanted = false;
    if (!killed.signal.aborted) dashboard.outdated();
  }

  const onSignal = (signal: NodeJS.Signals) => {
    ending.abort();
    faults.thaw(); // what stands still hears of no signal
    // A worker takes a Ctrl-C that comes twice for one.
    const name = signal === 'SIGINT' ? signal : 'SIGTERM';
    for (const child of [worker, faults.second(), dashboard.child()]) child?.signal(name);
  };

  let worker = startFirst();
  const silence = keyboard?.onEnter(dashboard.link);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  const forgetParent = watchParent(systemClock, () => onSignal('SIGTERM'));
  for (;;) {
    await over(worker);
    if (ending.signal.aborted) break;
    faults.thaw();
    await worker.stop();
    if (!ending.signal.aborted) worker = startFirst();
  }
  silence?.();
  forgetParent();
  await Promise.all([worker, faults.second(), dashboard.child()].map((child) => child?.end()));
  return (await worker.ended).code ?? 0;
}

const lookMs = 200;
/** Looking takes at most about this share of the time, however many files there are. */
const share = 0.1;

/**
 * Resolves when a file that the worker imports has changed and has then stayed as it is for one look, or when `signal` aborts.
 * Compares what is on the disk, several times a second: a file that is replaced instead of written, a new one, and a folder of
 * another machine are then seen like any other. `node --watch` follows the old file when an editor saves by renaming.
 */
async function changed(stamps: ReadonlyMap<string, string>, signal: AbortSignal): Promise<void> {
  let last: string | null = null;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const now = [...stamps.keys()].map(stampOf);
    const isOther = [...stamps.values()].some((stamp, i) => stamp !== now[i]);
    const text = isOther ? now.join('\n') : null;
    if (text !== null && text === last) return;
    last = text;
    const tookMs = performance.now() - startedAt;
    await sleep(Math.max(lookMs, tookMs / share), undefined, { signal }).catch(() => {});
  }
}
