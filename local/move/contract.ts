/** What a backend offers so that a backlog can move with its history. */

import type { AbandonReason, AttemptReport, Progress } from '../../core/contract/outcome.ts';
import type { OutgoingMessage, SendResult } from '../../core/contract/queue.ts';

/** A waiting message or a dead letter, with all that another backend needs to go on with it. */
export interface MovedJob {
  /** `notBefore` is never null: of a ready message it is the moment since which it has been ready. */
  readonly message: OutgoingMessage;
  readonly createdAt: number;
  /** How many have begun. */
  readonly attempts: number;
  readonly interrupted: boolean;
  readonly reports: readonly AttemptReport[];
  readonly progress: Progress | null;
  /** `null` = it waits. */
  readonly death: { readonly reason: AbandonReason; readonly error: string; readonly at: number } | null;
}

/**
 * How a backlog moves between backends. Workers, `clear` and the reaper cannot reach a held message until `release` or `remove`, even
 * when the process that took it has ended. It counts as leased. The order is `hold`, `put` there, `remove` here, `release` there: it
 * can stop anywhere and begin again, and nothing runs twice.
 */
export interface QueueTransfer {
  /** Takes up to `max` waiting messages in their order, ready before delayed. Their attempts do not count. */
  hold(queue: string, max: number): Promise<MovedJob[]>;
  /** All held messages, of any process. */
  held(queue: string, max: number): Promise<MovedJob[]>;
  /** Stores messages of one queue as they are: waiting ones held, dead ones as dead letters. A known id changes nothing and is a duplicate. */
  put(jobs: readonly MovedJob[]): Promise<SendResult[]>;
  /** Requeues held messages as they were; returns how many. One whose cancellation was requested meanwhile is cancelled now. */
  release(queue: string, ids: readonly string[]): Promise<number>;
  /** Removes held messages and their records. `false`: it is not held, or its cancellation was requested: then it is cancelled now. */
  remove(queue: string, ids: readonly string[]): Promise<boolean[]>;
}

/** What a queue that cannot hold messages may offer, so that delayed ones, attempts and dead letters move too. */
export interface PartialTransfer {
  /** The next delayed messages, which stay where they are: up to `max`, and at least one if there are any. */
  delayed(queue: string, max: number): Promise<MovedJob[]>;
  /** Removes messages that still wait for their time; `false` for any other. */
  removeDelayed(queue: string, ids: readonly string[]): Promise<boolean[]>;
  /** Stores messages with their attempts: waiting ones queued at once, dead ones as dead letters. Not offered where neither is kept. */
  put?(jobs: readonly MovedJob[]): Promise<SendResult[]>;
}

/** What the `admin` of a backend that can be moved offers besides. Neither: only what is ready moves, and attempts begin anew. */
export interface MovableAdmin {
  /** Not offered where messages cannot be held. */
  readonly transfer?: QueueTransfer;
  /** Used where there is no `transfer`. */
  readonly partialTransfer?: PartialTransfer;
}

export const movable = ({ admin = {} }: { readonly admin?: object }): MovableAdmin => admin;

/**
 * Where a job that came from another backend stands in the line of its ordered group: one that has run was ahead of those that came
 * meanwhile. `null` = it has no order, or joins the line when its time comes.
 */
export function positionOfMoved({ message, attempts, createdAt }: MovedJob, now: number): number | null {
  const { order, notBefore } = message;
  if (!order) return null;
  if (attempts > 0) return createdAt;
  return notBefore === null || notBefore <= now ? (notBefore ?? now) : null;
}
