/**
 * `longshore dev`: runs the worker as a child process, and restarts it when a file that it imports has changed. The supervisor itself
 * loads no code of the app.
 */

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock, within } from '../../core/base/clock.ts';
import type { FaultResult } from '../../core/surfaces/dashboard/api.ts';
import { stampOf } from '../cli/watch/stamp.ts';
import type { Child } from '../fleet/processes.ts';
import { watchParent } from '../waiting.ts';
import { skipMs } from './fault-names.ts';
import {
  type AttemptName,
  type Caught,
  type DashboardCalls,
  type Serve,
  type Served,
  type SupervisorCalls,
  startWatched,
  type WatchedChild,
  type WorkerCalls,
} from './processes.ts';

export interface SuperviseOptions {
  /** Prints a line. */
  note(text: string): void;
  /** Calls `act` at each Enter, to print another link. Returns a function that stops this. `null` = there is no dashboard. */
  readonly keyboard: { onEnter(act: () => void): () => void } | null;
}

type WorkerChild = WatchedChild<WorkerCalls>;

/**
 * Resolves with the exit code of the worker after a signal to this process.
 * @param argv the file and the arguments of this process
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
    return startWatched<WorkerCalls>(argv, (child) => {
      const calls: SupervisorCalls = {
        ...callsOf(child, null),
        ready,
        caught: (attempt) => faults.caught(child, attempt),
      };
      return calls;
    });
  }

  function startDashboard(serve: Serve): Child<DashboardCalls> {
    const child = startWatched<DashboardCalls>(argv, (self) => callsOf(self, serve));
    void child.ended.then(({ code }) => {
      if (code !== 0 && !ending.signal.aborted) note('The worker continues without a dashboard.');
    });
    return child;
  }

  /** Resolves when the worker must be restarted, or everything must end. */
  async function over(child: WorkerChild): Promise<void> {
    const killed = new AbortController();
    let isWanted = true;
    void child.ended.then(({ code, signal }) => {
      if (!isWanted || ending.signal.aborted) return;
      if (faults.hasKilled(child)) killed.abort();
      else note(`The worker ended with ${signal ?? `exit code ${code}`}. Save a file to run it again.`);
    });
    await changed(child.stamps, AbortSignal.any([ending.signal, killed.signal]));
    isWanted = false;
    if (!killed.signal.aborted) dashboard.outdated();
  }

  const onSignal = (signal: NodeJS.Signals) => {
    ending.abort();
    faults.thaw(); // a frozen process gets no signals
    // The worker may get the Ctrl-C twice, which it counts once.
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
/** Checking files takes at most about this share of the time, for any number of files. */
const share = 0.1;

/**
 * Resolves when an imported file has changed and then stayed the same for one check, or when `signal` aborts. Compares files on the disk
 * several times a second. This also works for replaced files, new files and network folders; `node --watch` misses a save by renaming.
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

/** The dashboard is a process of its own, so that it survives when the worker is killed. */
type DashboardChild = Child<DashboardCalls>;

interface DashboardPorts {
  note(text: string): void;
  start(serve: Serve): DashboardChild;
}

function createDashboardChild({ note, start }: DashboardPorts) {
  const secret = randomBytes(32).toString('base64url');
  let port: number | null = null;
  let child: DashboardChild | null = null;
  /** The process that creates links: the child, or a worker with its queue in memory. */
  let server: DashboardChild | null = null;
  let isOutdated = false;
  return {
    child: () => child,
    /** A worker runs with the current code. Resolves with the settings to serve the dashboard itself; `null` = it should not. */
    async ready(isAlone: boolean): Promise<Serve | null> {
      if (isAlone) return { secret, port };
      if (isOutdated) await child?.stop();
      if (!child || child.hasEnded()) child = start({ secret, port });
      isOutdated = false;
      return null;
    },
    /** The code has changed. The old dashboard continues until a worker runs with the new code. */
    outdated(): void {
      isOutdated = true;
    },
    serving(by: DashboardChild, served: Served): void {
      server = by;
      if (port === null) {
        note('Open the dashboard with this link, which works once (Enter prints another one):');
        note(served.link);
      }
      port = served.port; // an open page finds the dashboard there after a restart
    },
    link(): void {
      server?.peer.ask('link', null).then(note, () => {});
    },
    async skip(ms: number): Promise<void> {
      if (child && !child.hasEnded()) await child.peer.ask('skip', { ms });
    },
  };
}

interface FaultPorts {
  note(text: string): void;
  /** Moves the clocks of all processes except the workers. */
  skip(ms: number): Promise<void>;
  /** `null` = no worker runs. */
  worker(): WorkerChild | null;
  /** Starts a second worker. `ready` is called when it runs. */
  startWorker(ready: () => void): WorkerChild;
}

/** A frozen worker continues after this time in any case. */
const longestFreezeMs = 60_000;

/** The part of the faults that the supervisor causes: on processes and their clocks. */
export function createFaults({ note, skip: skipOthers, worker, startWorker }: FaultPorts) {
  const killed = new WeakSet<object>();
  let frozen: Child<unknown> | null = null;
  let second: WorkerChild | null = null;
  let aheadMs = 0;

  function thaw(): void {
    if (frozen === null) return;
    frozen.signal('SIGCONT');
    frozen = null;
    second?.peer.ask('thawed', null).catch(ignore);
  }

  /** Keeps the worker frozen until a second worker has begun the job again. */
  async function freeze(child: WorkerChild, attempt: AttemptName): Promise<void> {
    frozen = child;
    const ready = Promise.withResolvers<void>();
    const other = startWorker(ready.resolve);
    second = other;
    const taken = ready.promise.then(() => other.peer.ask('begins', attempt));
    const over = Promise.race([taken.catch(ignore), child.ended, other.ended]);
    await within<unknown>(systemClock, longestFreezeMs, over, ignore);
    thaw();
    const end = Promise.race([
      child.peer.ask('ends', attempt).catch(() => null),
      child.ended.then(() => null),
    ]);
    const ended = await within(systemClock, longestFreezeMs, end, () => null);
    if (ended)
      note(
        ended.settled
          ? 'The worker continues. No other worker had begun its job, so the end of its attempt counts.'
          : `The worker continues. It had lost the lease of ${attempt.id}, so the end of attempt ${attempt.attempt} changed nothing.`,
      );
    await other.stop();
    second = null;
  }

  async function skip(first: WorkerChild): Promise<FaultResult> {
    const running = await first.peer.ask('hold', null);
    try {
      if (running > 0) {
        const jobs = running === 1 ? '1 job still runs' : `${running} jobs still run`;
        return {
          message: `${jobs}, and skipping an hour would end their leases. Try again when no job runs.`,
        };
      }
      aheadMs += skipMs;
      await Promise.all([first.peer.ask('skip', { ms: skipMs }), skipOthers(skipMs)]);
      return { message: 'An hour has passed.' };
    } finally {
      await first.peer.ask('free', null).catch(ignore);
    }
  }

  return {
    aheadMs: () => aheadMs,
    frozenPid: () => frozen?.pid ?? null,
    /** The worker that replaces a frozen one. */
    second: () => second,
    hasKilled: (child: object) => killed.has(child),
    thaw,
    caught(child: WorkerChild, { fault, id, attempt }: Caught): void {
      if (fault === 'kill') killed.add(child);
      if (fault === 'freeze') void freeze(child, { id, attempt });
    },
    async cause(name: string): Promise<FaultResult> {
      const first = worker();
      if (!first) throw new Error('No worker runs. Fix the error that ended it, and save the file.');
      if (second) throw new Error('A worker is frozen. Wait until it continues.');
      return name === 'skip-hour' ? skip(first) : first.peer.ask('cause', { name });
    },
  };
}

const ignore = (): void => {};
