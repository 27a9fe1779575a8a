/** How attempts and jobs end, as plain data that every seam shares. */

/** How one attempt ended. */
export type Outcome = 'acked' | 'requeued' | 'dead-lettered' | 'rejected' | 'skipped-idempotent';

/** Why a message will never run again. All but `cancelled` are listed as dead letters. */
export type AbandonReason = 'permanent' | 'exhausted' | 'crash-loop' | 'rejected' | 'expired' | 'cancelled';

export type JobStatus =
  | 'pending'
  | 'processing'
  | 'retrying'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'expired';

export interface AttemptError {
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
}

export interface AttemptReport {
  /** 1 = first run of the job, over all copies of its message. */
  readonly attempt: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `interrupted` is written for an attempt whose worker vanished. */
  readonly outcome: Outcome | 'interrupted';
  readonly error: AttemptError | null;
  /** JSON text of what the handler returned; `null` when it returned nothing. */
  readonly output: string | null;
}

export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly message: string | null;
  readonly at: number;
}
