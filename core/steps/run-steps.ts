/** The steps of one attempt. */

import type { SnoozeError } from '../base/errors.ts';
import type { JobTransaction } from '../contract/queue.ts';
import type { StepLog } from './log.ts';

export interface RunSteps {
  /** `null` = a later attempt has the job. */
  readonly log: Promise<StepLog | null>;
  /** What the handler has asked for. */
  readonly names: Set<string>;
  sleeps: number;
  /** Steps that this attempt has done. */
  done: number;
  /** The handler sleeps or waits: the attempt ends, whatever the handler does with the error. */
  parked: Parked | null;
  /** Transactions of steps that run. */
  readonly open: Set<JobTransaction>;
  /** The handler has ended, or the attempt was ended around it: what steps have not committed is undone. */
  end(): void;
}

export interface Parked {
  /** When the job comes again, if nobody wakes it: epoch ms. */
  readonly until: number;
  readonly error: SnoozeError;
  readonly forEvent: boolean;
}
