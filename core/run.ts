/** A lease on its way through one attempt: what a worker holds on to while the handler runs. */

import type { JobLease } from './contract.ts';
import { LongshoreError } from './errors.ts';

export type EndCause = 'timeout' | 'cancelled' | 'shutdown' | 'lease-lost';

export interface Run {
  readonly lease: JobLease;
  /** Known once the envelope is verified. */
  id: string | null;
  /** The idempotency key this run holds, which must be extended with the lease. */
  key: string | null;
  readonly cause: EndCause | null;
  readonly signal: AbortSignal;
  /** Tells the handler (aborts `signal`) and lets it finish. The first cause wins. */
  interrupt(cause: EndCause): void;
  /** Ends the attempt now, whatever the handler does. */
  end(cause: EndCause): void;
  /** Called at most once, when the attempt is ended from outside. */
  onEnd: ((cause: EndCause) => void) | null;
}

export function createRun(lease: JobLease): Run {
  let controller: AbortController | null = null;
  let cause: EndCause | null = null;
  let ended = false;
  const abort = () => controller?.abort(abortReason(cause!));
  return {
    lease,
    id: null,
    key: null,
    onEnd: null,
    get cause() {
      return cause;
    },
    // Made on demand: most handlers never look, and a controller costs more than the rest of the bookkeeping.
    get signal() {
      if (!controller) {
        controller = new AbortController();
        if (cause) abort();
      }
      return controller.signal;
    },
    interrupt(why) {
      if (cause) return;
      cause = why;
      abort();
    },
    end(why) {
      if (ended) return;
      ended = true;
      this.interrupt(why);
      this.onEnd?.(cause!);
    },
  };
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
      return new LongshoreError(
        'LEASE_LOST',
        'The lease ended during the run; another worker may own the job now.',
      );
  }
}
