/** The steps of one attempt. */

import type { LongshoreError, SnoozeError } from '../../base/errors.ts';
import type { JobTransaction } from '../../contract/queue.ts';
import type { StepLog } from './log.ts';

export interface RunSteps {
  /** `null` = a later attempt has the job. */
  readonly log: Promise<StepLog | null>;
  /** What the handler has asked for. */
  readonly names: Set<string>;
  sleeps: number;
  /** Steps that this attempt has done. */
  done: number;
  /** The handler sleeps or waits, or must not go on: the attempt ends, whatever the handler does with the error. */
  parked: Parked | null;
  /** What the store keeps does not verify. It stays as it is, for whoever looks into it. */
  refused: boolean;
  /** Transactions of steps that run. */
  readonly open: Set<JobTransaction>;
  /** The handler has ended, or the attempt was ended around it: what steps have not committed is undone. */
  end(): void;
}

/** A verdict on the attempt: it goes back to its queue, or is rejected. */
type Stop =
  | {
      readonly verb: 'nack';
      readonly outcome: 'requeued';
      readonly delayMs: number;
      readonly countAttempt: false;
      readonly error: null;
    }
  | {
      readonly verb: 'abandon';
      readonly outcome: 'rejected';
      readonly reason: 'rejected';
      readonly error: LongshoreError;
    };

export interface Parked {
  /** When the job comes again, if nobody wakes it: epoch ms. */
  readonly until: number;
  readonly error: SnoozeError | LongshoreError;
  readonly forEvent: boolean;
  /** In words; absent where it waits for nothing. */
  readonly waits?: string;
  /** What becomes of the attempt. */
  end(): Stop;
}
