/** What the command line and the dashboard ask of a queue. */

import type { AbandonReason } from './outcome.ts';

/** Counts are exact up to 10,000; above that a queue may estimate them, so that a long backlog is never read to be counted. */
export interface QueueStats {
  readonly queue: string;
  readonly ready: number;
  readonly delayed: number;
  readonly leased: number;
  readonly dead: number;
  readonly paused: boolean;
  /** Age of the oldest ready message in ms, of those that come first at least; `null` when none is ready. */
  readonly oldestReadyMs: number | null;
}

export interface PeekedMessage {
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  readonly priority: number;
  readonly readyAt: number;
  readonly attempt: number;
}

export interface DeadLetter {
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  readonly reason: AbandonReason;
  readonly error: string;
  readonly attempt: number;
  readonly diedAt: number;
  readonly body: string;
}

export interface DeadLetters {
  /** Newest first. */
  list(filter: { queue?: string; max?: number }): Promise<DeadLetter[]>;
  /**
   * Makes them ready again with their attempts forgotten; returns how many were found. A store beside the queue does not hear of it, as
   * it does from `longshore dead retry`: tell it by `stores.records.writer?.retried?.(ids)`, or its records stay `failed` until they run.
   */
  retry(ids: readonly string[]): Promise<number>;
  discard(ids: readonly string[]): Promise<number>;
}

/** What the jobs of one queue ask of it: the most that any of them does. */
export interface QueueNeeds {
  readonly maxRetries: number;
  /** How long one attempt may take. */
  readonly timeoutMs: number;
}

/** What the CLI and the dashboard use. */
export interface QueueAdmin {
  readonly deadLetters: DeadLetters;
  /** Tells a backend that cannot list its queues which there are. Asks nothing of the service. */
  know?(queues: readonly string[]): Promise<void>;
  /**
   * Compares the service's own settings of all its queues with what their jobs need. Throws `CONFIG` where they would lose or double
   * jobs, or end them before their last retry. Resolves with what may be wrong and what could not be found out, a sentence each.
   */
  check?(needsOf: (queue: string) => QueueNeeds): Promise<readonly string[]>;
  /** All queues ever used, or only the one named. */
  stats(queue?: string): Promise<QueueStats[]>;
  /** The next messages in the order in which they would be fetched, ready before delayed. */
  peek(queue: string, max: number): Promise<PeekedMessage[]>;
  /** Removes ready and delayed messages; running ones and dead letters stay. Returns how many. */
  clear(queue: string): Promise<number>;
  /** A paused queue gives out no leases; running jobs end normally. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
}
