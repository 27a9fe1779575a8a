/** What the processes of `longshore dev` ask one another. Only their supervisor starts them, and only it can be asked. */

import type { FaultResult } from '../../core/dashboard/api.ts';

export interface Begin {
  /** How far time has been moved. */
  readonly aheadMs: number;
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
  /** The worker runs. `isAlone`: its queue is in its memory, so nobody else can show it. */
  ready(worker: { isAlone: boolean }): Promise<void>;
  /** A worker is about to be killed or frozen in an attempt. */
  caught(attempt: Caught): void;
};

export type WorkerCalls = {
  cause(fault: { name: string }): Promise<FaultResult>;
  /** Takes no more jobs. Resolves when none runs, or after a while, with how many do. */
  hold(none: null): Promise<number>;
  free(none: null): void;
  skip(time: { ms: number }): void;
  /** Wakes a frozen process should the supervisor die meanwhile; `null` = it is awake. */
  guard(frozen: { pid: number | null }): void;
  /** Resolves when it begins a later attempt of the same job. */
  begins(after: AttemptName): Promise<void>;
  /** Resolves when this attempt is over. `settled`: whether its end changed anything. */
  ends(attempt: AttemptName): Promise<{ settled: boolean }>;
};
