/**
 * `longshore dev`: runs the worker as a process of its own, and runs it again when a file that it imports has changed. It loads no
 * code of the app itself.
 */

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock, within } from '../../core/base/clock.ts';
import type { FaultResult } from '../../core/surfaces/dashboard/api.ts';
import { stampOf } from '../cli/watch/stamp.ts';
import { watchParent } from '../waiting.ts';
import { skipMs } from './fault-names.ts';
import {
  type AttemptName,
  type Caught,
  type Child,
  type DashboardCalls,
  type Serve,
  type Served,
  type SupervisorCalls,
  startChild,
  type WorkerCalls,
} from './processes.ts';

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

/** The dashboard: a process of its own, so that it outlives a worker that is killed. */
type DashboardChild = Child<DashboardCalls>;

interface DashboardPorts {
  note(text: string): void;
  start(serve: Serve): DashboardChild;
}

function createDashboardChild({ note, start }: DashboardPorts) {
  const secret = randomBytes(32).toString('base64url');
  let port: number | null = null;
  let child: DashboardChild | null = null;
  /** Who gives out links: the child, or a worker whose queue nobody else can show. */
  let server: DashboardChild | null = null;
  let isOutdated = false;
  return {
    child: () => child,
    /** A worker runs, with the code of now. Resolves with how it serves the dashboard itself; `null` = it does not. */
    async ready(isAlone: boolean): Promise<Serve | null> {
      if (isAlone) return { secret, port };
      if (isOutdated) await child?.stop();
      if (!child || child.hasEnded()) child = start({ secret, port });
      isOutdated = false;
      return null;
    },
    /** Until a worker runs with the new code, the old one goes on. */
    outdated(): void {
      isOutdated = true;
    },
    serving(by: DashboardChild, served: Served): void {
      server = by;
      if (port === null) {
        note('The dashboard, by a link that works once (Enter prints another one):');
        note(served.link);
      }
      port = served.port; // the page that is open finds it there after a restart
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
  /** Moves the time of what is no worker. */
  skip(ms: number): Promise<void>;
  /** `null` = it does not run. */
  worker(): WorkerChild | null;
  /** Beside the other one. `ready` is called when it runs. */
  startWorker(ready: () => void): WorkerChild;
}

/** A worker that stands still goes on then, whatever became of its job. */
const longestFreezeMs = 60_000;

/** The faults, as the supervisor causes them: with processes, and with the time of all of them. */
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

  /** Until a second worker has begun the job anew. */
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
          ? 'The worker goes on. Its job had not been begun anew, so its end counts.'
          : `The worker goes on. It has lost the lease of ${attempt.id}: its end of attempt ${attempt.attempt} changed nothing.`,
      );
    await other.stop();
    second = null;
  }

  async function skip(first: WorkerChild): Promise<FaultResult> {
    const running = await first.peer.ask('hold', null);
    try {
      if (running > 0) {
        const jobs = running === 1 ? '1 job still runs' : `${running} jobs still run`;
        return { message: `${jobs}, and an hour would end every lease. Ask again when nothing runs.` };
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
    /** The worker that stands in for one that is frozen. */
    second: () => second,
    hasKilled: (child: object) => killed.has(child),
    thaw,
    caught(child: WorkerChild, { fault, id, attempt }: Caught): void {
      if (fault === 'kill') killed.add(child);
      if (fault === 'freeze') void freeze(child, { id, attempt });
    },
    async cause(name: string): Promise<FaultResult> {
      const first = worker();
      if (!first) throw new Error('No worker runs. Mend what has ended it, and save the file.');
      if (second) throw new Error('A worker stands still at the moment. Wait until it goes on.');
      return name === 'skip-hour' ? skip(first) : first.peer.ask('cause', { name });
    },
  };
}

const ignore = (): void => {};
