/** The seam for messages of other programs, which a receiver makes jobs of. */

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
  /** Epoch ms; `null` where the service does not say it. */
  readonly sentAt: number | null;
}

/** Makes a job of a message that the rule takes. `null`: of another kind. An error: it could not be mapped. */
export type Foreign = (message: ForeignMessage) => Promise<ForeignJob | LongshoreError | null>;
