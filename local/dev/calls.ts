/** What the processes of `longshore dev` ask one another. Only their supervisor starts them, and only it can be asked. */

import type { FaultResult } from '../../core/surfaces/dashboard/api.ts';

/** How the dashboard is served, however often its process is started again. */
export interface Serve {
  /** Signs sessions. */
  readonly secret: string;
  /** Where it was before; `null` = as the command line says. */
  readonly port: number | null;
}

export interface Served {
  readonly port: number;
  readonly link: string;
}

export interface Begin {
  /** `null` for the worker. */
  readonly dashboard: Serve | null;
  /** How far time has been moved. */
  readonly aheadMs: number;
  /** The process that stands still, to be woken should the supervisor die; `null` = none does. */
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

/** A `type` and no `interface`: the names are looked up. */
export type SupervisorCalls = {
  begin(none: null): Begin;
  /** The worker runs. `isAlone`: its queue is in its memory, so that only it can serve the dashboard; it does so unless it gets `null`. */
  ready(worker: { isAlone: boolean }): Promise<Serve | null>;
  serving(dashboard: Served): void;
  /** Asked by the dashboard. */
  cause(fault: { name: string }): Promise<FaultResult>;
  /** A worker is about to be killed or frozen in an attempt. */
  caught(attempt: Caught): void;
};

export type DashboardCalls = {
  /** Another link. */
  link(none: null): string;
  skip(time: { ms: number }): void;
};

export type WorkerCalls = DashboardCalls & {
  cause(fault: { name: string }): Promise<FaultResult>;
  /** Takes no more jobs. Resolves when none runs, or after a while, with how many do. */
  hold(none: null): Promise<number>;
  free(none: null): void;
  /** What stood still goes on. */
  thawed(none: null): void;
  /** Resolves when it begins a later attempt of the same job. */
  begins(after: AttemptName): Promise<void>;
  /** Resolves when this attempt is over. `settled`: whether its end changed anything. */
  ends(attempt: AttemptName): Promise<{ settled: boolean }>;
};
