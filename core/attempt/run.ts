/** A lease on its way through one attempt: what a worker keeps while the handler runs. */

import { LongshoreError } from '../base/errors.ts';
import type { JobLease, JobTransaction } from '../contract/queue.ts';

export type EndCause = 'timeout' | 'cancelled' | 'shutdown' | 'lease-lost';

/** The record's side of one attempt. */
export interface Recording {
  /** `false`: the job was cancelled while it waited. */
  readonly begun: boolean;
  /** The attempt before this one never reported its end, as far as the store knows. */
  readonly interrupted: boolean;
}

export interface Run {
  readonly lease: JobLease;
  /** The lease's own end, until it is renewed. */
  expiresAt: number;
  /** Its index in the list that holds it. */
  index: number;
  /** Known once the envelope is verified. */
  id: string | null;
  /** The idempotency key this run holds, which must be extended with the lease. */
  key: string | null;
  /** Open while a handler with a transaction of its own runs. */
  tx: JobTransaction | null;
  /** Set when the start was recorded, where the queue keeps no records itself. */
  recording: Recording | null;
  readonly cause: EndCause | null;
  readonly ended: boolean;
  readonly signal: AbortSignal;
  /** Aborts the handler's `signal` and lets it finish. The first cause wins. */
  interrupt(cause: EndCause): void;
  /** Ends the attempt now, whatever the handler does. */
  end(cause: EndCause): void;
  /** Called at most once, when the attempt is ended from outside. */
  onEnd: ((reason: LongshoreError) => void) | null;
  /** Ends the wait for its deadline. */
  stopTimer: (() => void) | null;
}

export function createRun(lease: JobLease): Run {
  return new LeaseRun(lease);
}

/** A class, because its methods and accessors are then made once and not per job. */
class LeaseRun implements Run {
  readonly lease: JobLease;
  expiresAt: number;
  index = -1;
  id: string | null = null;
  key: string | null = null;
  tx: JobTransaction | null = null;
  recording: Recording | null = null;
  cause: EndCause | null = null;
  onEnd: ((reason: LongshoreError) => void) | null = null;
  stopTimer: (() => void) | null = null;
  #controller: AbortController | null = null;
  ended = false;

  constructor(lease: JobLease) {
    this.lease = lease;
    this.expiresAt = lease.expiresAt;
  }

  // Made on demand: most handlers never look, and a controller costs more than the rest of the bookkeeping.
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.cause) this.#controller.abort(abortReason(this.cause));
    }
    return this.#controller.signal;
  }

  interrupt(why: EndCause): void {
    if (this.cause) return;
    this.cause = why;
    this.#controller?.abort(abortReason(why));
  }

  end(why: EndCause): void {
    if (this.ended) return;
    this.ended = true;
    this.interrupt(why);
    this.onEnd?.(abortReason(this.cause!));
  }
}

export function abortReason(cause: EndCause): LongshoreError {
  switch (cause) {
    case 'timeout':
      return new LongshoreError('TIMEOUT', 'The attempt ran longer than the timeoutMs of its job.');
    case 'cancelled':
      return new LongshoreError('CANCELLED', 'The job was cancelled while it ran.');
    case 'shutdown':
      return new LongshoreError('CANCELLED', 'The worker is shutting down; the job goes back to the queue.');
    case 'lease-lost':
      return new LongshoreError('LEASE_LOST', 'The lease ended; another worker may own the job now.');
  }
}
