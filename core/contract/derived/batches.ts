/** Batches: jobs that belong together, and how many of them have ended. A job of a batch is a child; children are numbered from 0. */

export interface BatchState {
  /** 1 to 96 of `A-Z a-z 0-9 . _ -`. */
  readonly id: string;
  /** The plan, signed by the sender: the name, and the callbacks to enqueue at the end. Stores must not parse it. */
  readonly plan: string;
  readonly createdAt: number;
  /** How many children are in the queue; they are the ones with the lowest numbers. */
  readonly sent: number;
  /** Children with a lower number may be in the queue, including those that are being sent now. */
  readonly planned: number;
  /** `true` = no more children will be added. */
  readonly sealed: boolean;
  readonly cancelledAt: number | null;
  /** Children that have ended, each counted once. */
  readonly succeeded: number;
  readonly failed: number;
  /** 1, and one more each time children were reopened to be retried. */
  readonly round: number;
  /** When a child was last sent or ended. */
  readonly changedAt: number;
  /** When it was sealed and its last child had ended; `null` = not yet. */
  readonly completedAt: number | null;
  /** `true` = the callbacks of this round are in the queue. */
  readonly called: boolean;
}

export interface ChildEnd {
  readonly batch: string;
  readonly number: number;
  readonly failed: boolean;
}

/**
 * Each call is atomic per batch, or can be repeated after a failure to complete it. A batch is kept for 7 days after its callbacks were
 * enqueued, and before that for 90 days after its last change. Then a purge of the records removes it; some stores remove it later.
 */
export interface BatchStore {
  /**
   * Creates the batch, or returns the existing one with its plan and numbers unchanged. A batch that is not sealed belongs to this sender from
   * now on.
   * @param sender a token that identifies the sending call
   */
  open(batch: {
    readonly id: string;
    readonly plan: string;
    readonly sender: string;
    readonly planned: number;
  }): Promise<BatchState>;
  /** Records progress. `null` = nothing changed, because the batch belongs to another sender, is sealed, or does not exist. */
  sent(
    id: string,
    sender: string,
    progress: { readonly sent: number; readonly planned: number; readonly sealed: boolean },
  ): Promise<BatchState | null>;
  /**
   * Marks children as ended. A later success replaces a failure; a failure never replaces a success. A complete batch does not change, and
   * numbers from `planned` on are ignored. Resolves with the batches that this call completed; it may also name one that another call completed
   * at the same time.
   */
  ended(ends: readonly ChildEnd[]): Promise<readonly string[]>;
  get(id: string): Promise<BatchState | null>;
  /** Newest first. `after` is the last id of the previous page. @param max default 100 */
  list(page: { readonly after?: string; readonly max?: number }): Promise<readonly BatchState[]>;
  /** Cancels the batch: seals it with the children that may have been sent by now. `null` = it does not exist, or is complete. */
  cancel(id: string): Promise<BatchState | null>;
  /** Numbers of the children below `planned` that have not ended, ascending, from `from` on. */
  unended(id: string, from: number, max: number): Promise<readonly number[]>;
  /** Numbers of the children that have failed, ascending, from `from` on. */
  failed(id: string, from: number, max: number): Promise<readonly number[]>;
  /**
   * Marks failed children as not ended, so that they can be retried. On a complete batch this starts its next round; on an incomplete one the
   * round stays. Resolves with how many children it reopened.
   */
  reopen(id: string, numbers: readonly number[]): Promise<number>;
  /** The callbacks of this round are in the queue. Does nothing if the batch is in another round. */
  called(id: string, round: number): Promise<void>;
  /**
   * Batches that need a check: complete ones whose callbacks were not enqueued, and others that have neither sent nor ended a child for
   * `quietMs`. Each batch is returned once per `everyMs`, across all callers, longest waiting first. Fewer than `max` = there are no others.
   */
  toCheck(request: {
    readonly quietMs: number;
    readonly everyMs: number;
    readonly max: number;
  }): Promise<readonly BatchState[]>;
}
