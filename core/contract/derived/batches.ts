/** Jobs that belong together, and what is known of their ends. A child is one of them: the batch numbers its children from 0. */

export interface BatchState {
  /** 1 to 96 of `A-Z a-z 0-9 . _ -`. */
  readonly id: string;
  /** What its sender has signed: the name, what is called at the end. No store looks inside. */
  readonly plan: string;
  readonly createdAt: number;
  /** So many children are in the queue, those with the lowest numbers. */
  readonly sent: number;
  /** Children with a lower number may be in the queue: what is being sent now is among them. */
  readonly planned: number;
  /** No more children come. */
  readonly sealed: boolean;
  readonly cancelledAt: number | null;
  /** Children that have ended, each counted once. */
  readonly succeeded: number;
  readonly failed: number;
  /** 1, and one more whenever children were taken back to be retried. */
  readonly round: number;
  /** When a child was last sent or ended. */
  readonly changedAt: number;
  /** When it was sealed and the last of its children had ended; `null` = not yet. */
  readonly completedAt: number | null;
  /** What it calls at the end of this round is in the queue. */
  readonly called: boolean;
}

export interface ChildEnd {
  readonly batch: string;
  readonly number: number;
  readonly failed: boolean;
}

/**
 * Each call is atomic per batch, or leaves a state from which the same call goes on. A batch is kept for 7 days after it was
 * called, and before that for 90 days after its last change. A purge of the records removes it then; some stores do that later.
 */
export interface BatchStore {
  /**
   * Makes the batch, or finds it: then its plan and numbers stay. If it is not sealed, it belongs to this sender from now on.
   * @param sender a token of the call that sends
   */
  open(batch: {
    readonly id: string;
    readonly plan: string;
    readonly sender: string;
    readonly planned: number;
  }): Promise<BatchState>;
  /** `null`, and nothing changes: the batch belongs to another sender, is sealed, or is not known. */
  sent(
    id: string,
    sender: string,
    progress: { readonly sent: number; readonly planned: number; readonly sealed: boolean },
  ): Promise<BatchState | null>;
  /**
   * Marks children as ended. A child that has ended stays so: that it failed is corrected by a later success, never the other way round.
   * A batch that is complete changes no more, and numbers from `planned` on are ignored. Resolves with the batches that are complete by
   * this call; one that others have completed at the same time may be named, too.
   */
  ended(ends: readonly ChildEnd[]): Promise<readonly string[]>;
  get(id: string): Promise<BatchState | null>;
  /** Newest first. `after` is the id of the last one of the page before. @param max 100 without it */
  list(page: { readonly after?: string; readonly max?: number }): Promise<readonly BatchState[]>;
  /** Seals it with what may have been sent by now. `null` = it is not known, or complete. */
  cancel(id: string): Promise<BatchState | null>;
  /** Numbers of children below `planned` that have not ended, in order, from `from` on. */
  unended(id: string, from: number, max: number): Promise<readonly number[]>;
  /** Numbers of children that have failed, in order, from `from` on. */
  failed(id: string, from: number, max: number): Promise<readonly number[]>;
  /**
   * Takes those of a complete batch that have failed back, as if they had not ended: its next round begins. Of an incomplete one they
   * are taken back in the same round. Resolves with how many it were.
   */
  reopen(id: string, numbers: readonly number[]): Promise<number>;
  /** What is called at the end of this round is in the queue. Of another round it changes nothing. */
  called(id: string, round: number): Promise<void>;
  /**
   * Batches that somebody should look at: complete ones that were not called, and others that have neither sent nor ended a child for
   * `quietMs`. Each is named once in `everyMs`, over all who ask, and those that have waited for longest come first. Fewer than `max`: there
   * are no others.
   */
  toCheck(request: {
    readonly quietMs: number;
    readonly everyMs: number;
    readonly max: number;
  }): Promise<readonly BatchState[]>;
}
