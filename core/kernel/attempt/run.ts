/** The state that a worker keeps of a leased job until it is settled. */

import { type Clock, steadyNow } from '../../base/clock.ts';
import { type ErrorCode, LongshoreError, type SnoozeError } from '../../base/errors.ts';
import { mostLines } from '../../base/most-lines.ts';
import type { TakenSlot } from '../../contract/derived/limits.ts';
import type { JobLease, JobTransaction } from '../../contract/queue.ts';

export type EndCause = 'timeout' | 'cancelled' | 'shutdown' | 'lease-lost';

/** The answer of the record store when the start was recorded. */
export interface Recording {
  /** `false` = the job was cancelled while it waited. */
  readonly begun: boolean;
  /** The store has no end of the previous attempt. */
  readonly interrupted: boolean;
}

/** A call of `ctx.log`. It becomes text only when the attempt ends, because most lines are not kept. */
export interface Logged {
  readonly at: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** The verdict on a parked attempt: the job goes back to its queue, or is rejected. */
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

/** The members of a handler's steps that an attempt uses. The feature that makes them has more. */
export interface HandlerSteps {
  /** The number of steps that this attempt has finished. */
  done: number;
  /** Set when the handler sleeps, waits or must stop. The attempt then ends, even if the handler catches the error. */
  readonly parked: {
    readonly error: SnoozeError | LongshoreError;
    /** The time or event that the job waits for, in words; absent = nothing. */
    readonly waits?: string;
    /** The verdict on the attempt. */
    end(): Stop;
  } | null;
  /** Called when the handler or the attempt has ended: rolls back steps that have not committed. */
  end(): void;
}

/** One per lease. A class, so that its methods and accessors are made once and not per job. */
export class Run {
  readonly lease: JobLease;
  /** When the lease ends, by the steady clock: setting the host's clock must not end a lease. */
  expiresAt: number;
  /** Its index in its RunList. */
  index = -1;
  /** When it was fetched; once it has a slot, when it got it. By the steady clock. */
  since = 0;
  priority = 0;
  /** The job's id; `null` until the envelope is verified. */
  id: string | null = null;
  /** The job's name and when the attempt began (epoch ms); set once the job is admitted. */
  job = '';
  startedAt = 0;
  /** The idempotency key that this run holds. It must be extended with the lease. */
  key: string | null = null;
  /** The slots of limits that this run holds. They must be extended with the lease. */
  slots: readonly TakenSlot[] | null = null;
  /** When the first of these slots ends, unless it is extended. */
  slotsUntil = Infinity;
  /** The run holds a slot of each of its limits, or has none. */
  hasSlots = false;
  /** The slot that the job waits for. */
  waitsFor: TakenSlot | null = null;
  /** Made when the handler first uses a step. */
  steps: HandlerSteps | null = null;
  /** The open transaction, while a handler with `transaction: true` runs. */
  tx: JobTransaction | null = null;
  /** Set when the start was recorded, if the queue keeps no records itself. */
  recording: Recording | null = null;
  /** Set if only the record can say that the job has ended. It is thrown if the record cannot be written, so that nothing is settled. */
  needsRecord: LongshoreError | null = null;
  /** The memory of its isolate, set when the attempt has ended. */
  memoryBytes: number | null = null;
  /** The last log lines of the handler; made with the first line. */
  lines: Logged[] | null = null;
  cause: EndCause | null = null;
  /** The job's own code was called. */
  began = false;
  ended = false;
  /** Called at most once, when the attempt is ended from outside. */
  onEnd: ((reason: LongshoreError) => void) | null = null;
  /** Cancels the timer of its deadline. */
  stopTimer: (() => void) | null = null;
  #controller: AbortController | null = null;

  /** @param aheadMs how far the steady clock is ahead of the clock that dated the lease */
  constructor(lease: JobLease, aheadMs: number) {
    this.lease = lease;
    this.expiresAt = lease.expiresAt + aheadMs;
  }

  // Made on demand: most handlers never read it, and a controller costs more than the rest of a run.
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.cause) this.#controller.abort(abortReason(this.cause));
    }
    return this.#controller.signal;
  }

  log(line: Logged): void {
    this.lines ??= [];
    if (this.lines.push(line) > mostLines) this.lines.shift();
  }

  /** Aborts the handler's `signal` and lets it finish. The first cause wins. */
  interrupt(why: EndCause): void {
    if (this.cause) return;
    this.cause = why;
    this.#controller?.abort(abortReason(why));
  }

  /** Ends the attempt now, even if the handler goes on. */
  end(why: EndCause): void {
    if (this.ended) return;
    this.ended = true;
    this.interrupt(why);
    this.onEnd?.(abortReason(this.cause!));
  }
}

/** @param clock the app's clock. Without it the lease was dated by a steady clock, as in tests. */
export const createRun = (lease: JobLease, clock?: Clock): Run =>
  new Run(lease, clock ? steadyAheadMs(clock) : 0);

export const steadyAheadMs = (clock: Clock): number => steadyNow(clock) - clock.now();

/** When the lease ends by the app's clock, epoch ms. */
export const leaseEnd = ({ expiresAt }: Run, clock: Clock): number =>
  Math.round(clock.now() + expiresAt - steadyNow(clock));

export const abortReason = (cause: EndCause): LongshoreError => new LongshoreError(...reasons[cause]);

const reasons: Readonly<Record<EndCause, readonly [ErrorCode, string]>> = {
  timeout: ['TIMEOUT', 'The attempt ran longer than the timeoutMs of its job.'],
  cancelled: ['CANCELLED', 'The job was cancelled while it ran.'],
  shutdown: ['CANCELLED', 'The worker is shutting down; the job goes back to the queue.'],
  'lease-lost': ['LEASE_LOST', 'The lease ended; another worker may own the job now.'],
};
