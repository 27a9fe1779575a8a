/** What is known of one attempt. */

import type { Job } from '../app/job.ts';
import type { AbandonReason, AttemptError, Outcome } from '../contract/outcome.ts';
import type { Ack, JobSettler } from '../contract/queue.ts';
import type { Client } from '../enqueue/client.ts';
import type { Envelope } from '../envelope/envelope.ts';
import type { Run } from './run.ts';

export interface AttemptPorts {
  readonly client: Client;
  readonly settler: Pick<JobSettler, 'ack' | 'nack' | 'abandon'>;
  /** Instead of the settler's `ack`, where the acks of several attempts are grouped. */
  readonly ack?: (ack: Ack) => Promise<boolean>;
  /** Called when the handler has ended and what is left is to settle. */
  readonly handled?: (run: Run) => void;
}

export interface AttemptResult {
  readonly id: string | null;
  readonly job: string | null;
  readonly outcome: Outcome;
  /** `false`: the lease was no longer ours, so nothing was changed. */
  readonly settled: boolean;
  readonly attempt: number;
  readonly delayMs: number | null;
  readonly reason: AbandonReason | null;
  readonly error: AttemptError | null;
}

/** A message that may run here. */
export interface Admitted {
  readonly run: Run;
  readonly envelope: Envelope;
  readonly job: Job;
  /** 1 = first run, over all copies of the message. */
  readonly attempt: number;
  /** When the attempt began, epoch ms. */
  readonly startedAt: number;
}
