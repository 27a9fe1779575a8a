/** The steps of one attempt. */

import type { JobTransaction } from '../../contract/queue.ts';
import type { HandlerSteps, Run } from '../../kernel/attempt/run.ts';
import type { StepLog } from './log.ts';

export interface RunSteps extends HandlerSteps {
  /** `null` = a later attempt has the job. */
  readonly log: Promise<StepLog | null>;
  /** The step names that the handler has used. */
  readonly names: Set<string>;
  sleeps: number;
  parked: Parked | null;
  /** `true` = the stored text does not verify. It is kept for inspection. */
  refused: boolean;
  /** Transactions of running steps. */
  readonly open: Set<JobTransaction>;
}

/** The steps of an attempt. Call it only after the handler has started one. */
export const runSteps = (run: Run): RunSteps => run.steps as RunSteps;

export interface Parked extends NonNullable<HandlerSteps['parked']> {
  /** When the job runs again unless it is woken, epoch ms. */
  readonly until: number;
  readonly forEvent: boolean;
}
