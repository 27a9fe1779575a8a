/** A lease on its way through one attempt: what a worker keeps while the handler runs. */

import { type Clock, steadyNow } from '../../base/clock.ts';
import { type ErrorCode, LongshoreError, type SnoozeError } from '../../base/errors.ts';
import { mostLines } from '../../base/most-lines.ts';
import type { TakenSlot } from '../../contract/derived/limits.ts';
import type { JobLease, JobTransaction } from '../../contract/queue.ts';

export type EndCause = 'timeout' | 'cancelled' | 'shutdown' | 'lease-lost';

/** The record's side of one attempt. */
export interface Recording {
  /** `false`: the job was cancelled while it waited. */
  readonly begun: boolean;
  /** The attempt before this one never reported its end, as far as the store knows. */
  readonly interrupted: boolean;
}

/** A call of `ctx.log`. It is made text when the attempt ends: of most calls no text is kept. */
export interface Logged {
  readonly at: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** A verdict on an attempt that its handler has parked: it goes back to its queue, or is rejected. */
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

/** The steps of a handler, as far as an attempt asks for them. Features know more of what they have made. */
export interface HandlerSteps {
  /** Steps that this attempt has done. */
  done: number;
  /** The handler sleeps or waits, or must not go on: the attempt ends, whatever the handler does with the error. */
  readonly parked: {
    readonly error: SnoozeError | LongshoreError;
    /** In words; absent where it waits for nothing. */
    readonly waits?: string;
    /** What becomes of the attempt. */
    end(): Stop;
  } | null;
  /** The handler has ended, or the attempt was ended around it: what steps have not committed is undone. */
  end(): void;
}

/** Once per lease. A class, because its methods and accessors are then made once and not per job. */
export class Run {
  readonly lease: JobLease;
  /** The lease's own end, until it is renewed, by the steady clock: a host's clock that is set takes no lease away. */
  expiresAt: number;
  /** Its index in the list that holds it. */
  index = -1;
  /** Known once the envelope is verified. */
  id: string | null = null;
  /** Known once it is admitted: the name of its job, and when the attempt began (epoch ms). */
  job = '';
  startedAt = 0;
  /** The idempotency key this run holds, which must be extended with the lease. */
  key: string | null = null;
  /** The slots of limits this run holds, which must be extended with the lease. */
  slots: readonly TakenSlot[] | null = null;
  /** When the first of them ends by itself. */
  slotsUntil = Infinity;
  /** The slot that it was refused. */
  waitsFor: TakenSlot | null = null;
  /** Made when its handler first asks for a step. */
  steps: HandlerSteps | null = null;
  /** Open while a handler with a transaction of its own runs. */
  tx: JobTransaction | null = null;
  /** Set when the start was recorded, where the queue keeps no records itself. */
  recording: Recording | null = null;
  /** Nothing but its record will say that it has ended: thrown where that cannot be written, so that it is not settled. */
  needsRecord: LongshoreError | null = null;
  /** What its isolate took, when it has ended. */
  memoryBytes: number | null = null;
  /** The last that its handler has logged; made with the first. */
  lines: Logged[] | null = null;
  cause: EndCause | null = null;
  /** From the moment at which the job's own code is called. */
  began = false;
  ended = false;
  /** Called at most once, when the attempt is ended from outside. */
  onEnd: ((reason: LongshoreError) => void) | null = null;
  /** Ends the wait for its deadline. */
  stopTimer: (() => void) | null = null;
  #controller: AbortController | null = null;

  /** @param aheadMs how far the steady clock is ahead of that by which the lease was dated */
  constructor(lease: JobLease, aheadMs: number) {
    this.lease = lease;
    this.expiresAt = lease.expiresAt + aheadMs;
  }

  // Made on demand: most handlers never look, and a controller costs more than the rest of the bookkeeping.
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

  /** Ends the attempt now, whatever the handler does. */
  end(why: EndCause): void {
    if (this.ended) return;
    this.ended = true;
    this.interrupt(why);
    this.onEnd?.(abortReason(this.cause!));
  }
}

/** @param clock the app's. Without it the lease is dated by a steady one, as in tests. */
export const createRun = (lease: JobLease, clock?: Clock): Run =>
  new Run(lease, clock ? steadyAheadMs(clock) : 0);

export const steadyAheadMs = (clock: Clock): number => steadyNow(clock) - clock.now();

/** When the lease ends by the app's clock, for a store. */
export const leaseEnd = ({ expiresAt }: Run, clock: Clock): number =>
  Math.round(clock.now() + expiresAt - steadyNow(clock));

export const abortReason = (cause: EndCause): LongshoreError => new LongshoreError(...reasons[cause]);

const reasons: Readonly<Record<EndCause, readonly [ErrorCode, string]>> = {
  timeout: ['TIMEOUT', 'The attempt ran longer than the timeoutMs of its job.'],
  cancelled: ['CANCELLED', 'The job was cancelled while it ran.'],
  shutdown: ['CANCELLED', 'The worker is shutting down; the job goes back to the queue.'],
  'lease-lost': ['LEASE_LOST', 'The lease ended; another worker may own the job now.'],
};
