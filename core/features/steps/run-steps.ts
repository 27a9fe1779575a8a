/** The steps of one attempt. */

import type { JobTransaction } from '../../contract/queue.ts';
import type { HandlerSteps, Run } from '../../kernel/attempt/run.ts';
import type { StepLog } from './log.ts';

export interface RunSteps extends HandlerSteps {
  /** `null` = a later attempt has the job. */
  readonly log: Promise<StepLog | null>;
  /** The names that the handler has asked for. */
  readonly names: Set<string>;
  sleeps: number;
  parked: Parked | null;
  /** The stored text does not verify. It stays as it is, for inspection. */
  refused: boolean;
  /** Transactions of steps that run. */
  readonly open: Set<JobTransaction>;
}

/** The steps of an attempt whose handler has asked for one. */
export const runSteps = (run: Run): RunSteps => run.steps as RunSteps;

export interface Parked extends NonNullable<HandlerSteps['parked']> {
  /** When the job runs again if it is not woken: epoch ms. */
  readonly until: number;
  readonly forEvent: boolean;
}
