/** Messages of other programs, from which a receiver makes jobs. */

import type { LongshoreError } from '../base/errors.ts';

export interface ForeignJob {
  readonly id: string;
  readonly job: string;
  /** The signed envelope. */
  readonly body: string;
}

export interface ForeignMessage {
  readonly queue: string;
  readonly messageId: string;
  readonly body: string;
  /** Epoch ms; `null` if the service does not provide it. */
  readonly sentAt: number | null;
}

/** Makes a job from a message. `null` = the rule does not apply to this message. An error = the message could not be mapped. */
export type Foreign = (message: ForeignMessage) => Promise<ForeignJob | LongshoreError | null>;
