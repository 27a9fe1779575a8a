/** Slots that all workers share. Concurrency limits, rates, breakers and pauses of jobs are built on them. */

/**
 * Asks for one slot of a key. A key has `limit` slots. A concurrency limit holds a slot as long as the lease of its job. A rate holds it for the
 * length of its window, so no window has more starts than slots.
 */
export interface SlotRequest {
  /** 1 to 500 characters. */
  readonly key: string;
  /** 1 or more. If slots with another limit are held (another release is running), the smallest limit counts. */
  readonly limit: number;
  /** The requester: a job, or one attempt of it. It has at most one slot of a key; asking again replaces that slot. */
  readonly holder: string;
  /**
   * The requester's name while it waits. With a rate each attempt has a slot of its own, but all refused attempts of a job wait under one name.
   * Once a holder gets a slot, its waiter is removed. @default `holder`
   */
  readonly waiter?: string;
  /** The lease's token. Only this owner can extend or free the slot. */
  readonly owner: string;
  /** The slot expires after this time, by the store's clock. A fraction is rounded up. */
  readonly holdMs: number;
  /** Position among the waiters: the lowest rank is first. */
  readonly rank: number;
  /** The job's queue, so that it can be woken there. */
  readonly queue: string;
  /**
   * The slot is a start in a window: it is never extended, and freed within a second or never. A store may then merely count it, and let it end up
   * to a hundredth of `holdMs` later.
   */
  readonly isStart?: boolean;
  /** Nothing can wake this job while it waits. A store may then merely count it, and `wake` and `free` need not name it. */
  readonly unwakeable?: boolean;
}

export type SlotAnswer = {
  /** The limit in force: the smallest of this request's and of the held slots'. */
  readonly limit: number;
  /** The largest of these limits. */
  readonly largest: number;
} & ({ readonly taken: true } | ({ readonly taken: false } & RefusedSlot));

export interface RefusedSlot {
  /** How many jobs wait before this one. Counted up to 1,000, or as far as the store remembers waiters; of those that nothing can wake, all. */
  readonly ahead: number;
  /**
   * Upper bound on the wait: time until the first slot or the hold ends, plus `holdMs` per `limit` jobs ahead. At least 1; `Infinity` = not
   * before a reset.
   */
  readonly waitMs: number;
}

/** A slot that was taken. */
export interface TakenSlot {
  readonly key: string;
  readonly holder: string;
  readonly owner: string;
}

/** A job that was refused a slot and has not asked again. */
export interface SlotWaiter {
  readonly key: string;
  /** The `waiter` of its request, or its `holder` if there was none. */
  readonly holder: string;
  readonly queue: string;
}

export interface LimitState {
  readonly key: string;
  /** The smallest limit of the slots in use; `null` = no slot is in use. */
  readonly limit: number | null;
  /** Slots in use. */
  readonly used: number;
  /** At most 20: those that end first. An empty `holder` = a start that is merely counted. */
  readonly slots: readonly { readonly holder: string; readonly until: number }[];
  /** No slot is given out until then; `null` = the key is not on hold. */
  readonly heldUntil: number | null;
  /** Waiting jobs, counted up to 10,000, or as far as the store remembers them. A job that was cleared or moved is counted until its turn. */
  readonly waiting: number;
}

/** Each call is atomic per key. A stale owner changes nothing. Expired slots and holds need no cleanup call. */
export interface LimitStore {
  /** The most slots that a key can have. `connect()` refuses an app with a larger limit. @default any number */
  readonly mostSlots?: number;
  /** How many slots per second the store can give out from a key with this number of slots. A faster rate is refused. @default any number */
  mostPerSecond?(slots: number): number;
  /**
   * One answer per request, in order. A refused job becomes a waiter of the key until it gets a slot, is woken, or has not asked for a day after
   * its `waitMs`. A slot that it already holds stays. A store may remember only a few hundred waiters, those with the lowest ranks. The others
   * ask again by themselves when their `waitMs` is over.
   */
  take(requests: readonly SlotRequest[]): Promise<readonly SlotAnswer[]>;
  /** Moves the end of each slot to now + `holdMs`. `false` = the slot had ended or has another owner. */
  extend(slots: readonly TakenSlot[], holdMs: number): Promise<readonly boolean[]>;
  /**
   * Frees slots; slots of other owners stay. Resolves with the waiters that may run now, lowest rank first: one per freed slot, as far as slots
   * are free by the smallest limit of the slots in use and of the first waiter. They are no longer waiters.
   */
  free(slots: readonly TakenSlot[]): Promise<readonly SlotWaiter[]>;
  /** Removes and returns waiters, lowest rank first: at most `max`, and at most as many as there are free slots; none while the key is on hold. */
  wake(key: string, max: number): Promise<readonly SlotWaiter[]>;
  /** No slot of the key is given out for this time. A hold that ends before the present one changes nothing; `Infinity` = until a reset. */
  hold(key: string, ms: number): Promise<void>;
  /** Frees all slots and ends the hold. Waiters stay: use `wake` for them. `false` = there was neither a slot nor a hold. */
  reset(key: string): Promise<boolean>;
  /** Keys that begin with `prefix` and are in use, on hold or waited for, in the order of their characters. */
  list(filter: {
    readonly prefix?: string;
    readonly after?: string;
    readonly max?: number;
    /** The caller needs only keys with waiters. If there are none, a store may return an empty list at once; it may also ignore this. */
    readonly waiting?: true;
  }): Promise<readonly LimitState[]>;
  /**
   * Keys that are on hold until a reset and begin with `prefix`, which ends with its first colon. For callers that ask every few seconds, where
   * `list` is expensive: one read if there are none. If absent, `list` is used.
   */
  heldUntilReset?(prefix: string): Promise<readonly string[]>;
  /** Removes these waiters from all keys: their jobs have ended or will not ask again. Wakes no other waiter. */
  leave(holders: readonly string[]): Promise<void>;
  /** The keys for which each of these names is a waiter, in the order of the names. */
  waitsFor(holders: readonly string[]): Promise<readonly (readonly string[])[]>;
}
