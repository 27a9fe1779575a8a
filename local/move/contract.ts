/** The contract of a backend for moving a backlog with its history. */

import type { AbandonReason, AttemptReport, Progress } from '../../core/contract/outcome.ts';
import type { OutgoingMessage, SendResult } from '../../core/contract/queue.ts';

/** A waiting message or a dead letter, with everything that another backend needs to continue it. */
export interface MovedJob {
  /** `notBefore` is never null: for a ready message it is the time since which it has been ready. */
  readonly message: OutgoingMessage;
  readonly createdAt: number;
  /** Number of attempts that have begun. */
  readonly attempts: number;
  readonly interrupted: boolean;
  readonly reports: readonly AttemptReport[];
  readonly progress: Progress | null;
  /** `null` = it is waiting. */
  readonly death: { readonly reason: AbandonReason; readonly error: string; readonly at: number } | null;
}

/**
 * Moves a backlog between backends. Workers, `clear` and the reaper cannot reach a held message until `release` or `remove`, even if the
 * process that holds it has ended. It counts as leased. The order is `hold`, `put` at the goal, `remove` at the origin, `release` at the
 * goal. A move can stop at any point and begin again, and no job runs twice.
 */
export interface QueueTransfer {
  /** Holds up to `max` waiting messages in order, ready before delayed. This does not count as an attempt. */
  hold(queue: string, max: number): Promise<MovedJob[]>;
  /** Up to `max` held messages, of any process. */
  held(queue: string, max: number): Promise<MovedJob[]>;
  /** Stores messages of one queue: waiting ones as held, dead ones as dead letters. A known id is a duplicate and changes nothing. */
  put(jobs: readonly MovedJob[]): Promise<SendResult[]>;
  /** Requeues held messages unchanged; returns how many. Cancels a message whose cancellation was requested meanwhile. */
  release(queue: string, ids: readonly string[]): Promise<number>;
  /** Removes held messages and their records. `false` = not held, or cancelled now because that was requested meanwhile. */
  remove(queue: string, ids: readonly string[]): Promise<boolean[]>;
}

/** Optional for a queue that cannot hold messages, so that delayed messages, attempts and dead letters move too. */
export interface PartialTransfer {
  /** Reads the next delayed messages, which stay in the queue: up to `max`, and at least one if there are any. */
  delayed(queue: string, max: number): Promise<MovedJob[]>;
  /** Removes messages that are still delayed; `false` for any other. */
  removeDelayed(queue: string, ids: readonly string[]): Promise<boolean[]>;
  /** Stores messages with their attempts: waiting ones in the queue, dead ones as dead letters. Absent if the queue keeps neither. */
  put?(jobs: readonly MovedJob[]): Promise<SendResult[]>;
}

/** Optional members of `admin` for moves. Without both, only ready messages move, and attempts start again. */
export interface MovableAdmin {
  /** Absent if messages cannot be held. */
  readonly transfer?: QueueTransfer;
  /** Used if there is no `transfer`. */
  readonly partialTransfer?: PartialTransfer;
}

export const movable = ({ admin = {} }: { readonly admin?: object }): MovableAdmin => admin;

/**
 * Place of a moved job in the line of its ordered group. A job that has run before goes ahead of later jobs. `null` = the group has no
 * order, or the job joins the line when it is due.
 */
export function positionOfMoved({ message, attempts, createdAt }: MovedJob, now: number): number | null {
  const { order, notBefore } = message;
  if (!order) return null;
  if (attempts > 0) return createdAt;
  return notBefore === null || notBefore <= now ? (notBefore ?? now) : null;
}
