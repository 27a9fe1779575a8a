/** The processes of `longshore dev`, and what the supervisor and they ask of each other. */

import type { FaultResult } from '../../core/surfaces/dashboard/api.ts';
import { type Child, startChild } from '../fleet/processes.ts';

/** Settings of the dashboard that survive a restart of its process. */
export interface Serve {
  /** Signs sessions. */
  readonly secret: string;
  /** The port so far; `null` = use the one of the command line. */
  readonly port: number | null;
}

export interface Served {
  readonly port: number;
  readonly link: string;
}

export interface Begin {
  /** `null` for the worker. */
  readonly dashboard: Serve | null;
  /** How far the clock is ahead. */
  readonly aheadMs: number;
  /** The frozen process, which must be woken if the supervisor dies; `null` = none. */
  readonly frozenPid: number | null;
  readonly hasFaults: boolean;
}

export interface AttemptName {
  readonly id: string;
  readonly attempt: number;
}

/** An attempt that a fault has found. */
export interface Caught extends AttemptName {
  readonly fault: string;
  readonly job: string;
}

/** A `type`, because names of an `interface` could not be looked up. */
export type SupervisorCalls = {
  begin(none: null): Begin;
  /** The worker runs. `isAlone`: its queue is in memory, so only the worker can serve the dashboard; `null` = it should not. */
  ready(worker: { isAlone: boolean }): Promise<Serve | null>;
  serving(dashboard: Served): void;
  /** Called by the dashboard. */
  cause(fault: { name: string }): Promise<FaultResult>;
  /** A worker will be killed or frozen during an attempt. */
  caught(attempt: Caught): void;
};

export type DashboardCalls = {
  /** Creates another link. */
  link(none: null): string;
  skip(time: { ms: number }): void;
};

export type WorkerCalls = DashboardCalls & {
  cause(fault: { name: string }): Promise<FaultResult>;
  /** Stops taking jobs. Resolves with the number of running jobs, when it is 0 or after a while. */
  hold(none: null): Promise<number>;
  free(none: null): void;
  /** The frozen worker continues. */
  thawed(none: null): void;
  /** Resolves when the worker begins a later attempt of the same job. */
  begins(after: AttemptName): Promise<void>;
  /** Resolves when this attempt has ended. `settled`: whether the queue accepted its end. */
  ends(attempt: AttemptName): Promise<{ settled: boolean }>;
};

export interface WatchedChild<Calls> extends Child<Calls> {
  /** The imported files, each with its stamp when it was read. */
  readonly stamps: ReadonlyMap<string, string>;
}

/** Starts a child that reports the files that it imports. */
export function startWatched<Calls>(
  argv: readonly string[],
  mine: (child: WatchedChild<Calls>) => object,
): WatchedChild<Calls> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const hooks = new URL(`../cli/watch/report-imports.${extension}`, import.meta.url).href;
  const stamps = new Map<string, string>();
  function heard(message: unknown): void {
    const { imported, stamp } = (message ?? {}) as { imported?: unknown; stamp?: unknown };
    if (typeof imported !== 'string' || typeof stamp !== 'string' || stamps.has(imported)) return;
    stamps.set(imported, stamp);
  }
  const env = { LONGSHORE_WATCHER: String(process.pid) };
  return startChild<Calls>(argv, { env, execArgv: ['--import', hooks], heard }, (child) =>
    mine(Object.assign(child, { stamps })),
  ) as WatchedChild<Calls>;
}
