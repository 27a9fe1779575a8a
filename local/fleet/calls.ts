/** The processes of `longshore work --processes`, and what the parent and they ask of each other. */

import type { WorkerSummary } from '../../core/kernel/worker/options.ts';

/** Metrics in the form of `getMetricsAsJSON()` of prom-client. */
export type Numbers = readonly object[];

/** The summary of a process whose worker has stopped. */
export interface MemberSummary extends WorkerSummary {
  readonly settled: number;
  readonly deadLetters: number;
  /** Its counters and histograms at the end; empty without `--metrics-port`. */
  readonly numbers: Numbers;
}

/** A `type`, because names of an `interface` could not be looked up. */
export type ParentCalls = {
  /** The worker runs. */
  ready(none: null): void;
  ended(summary: MemberSummary): void;
};

export type MemberCalls = {
  /** Drains the worker. May be called again. */
  stop(none: null): void;
  /** Gauges ask the queue, so only one process is asked for them. */
  numbers(which: { gauges: boolean }): Promise<Numbers>;
};

/** Holds the id of the parent's process and the number of the child. */
export const memberVariable = 'LONGSHORE_FLEET';
