/** Slots that all workers share: what limits of concurrency, rates, breakers and pauses of jobs are made of. */

/**
 * Asks for one slot of a key. A key has `limit` slots. A limit of concurrency holds a slot as long as the lease of its job; a rate
 * holds one for the length of its window, so no window ever has more starts than slots.
 */
export interface SlotRequest {
  /** 1 to 500 characters. */
  readonly key: string;
  /** 1 or more. While slots of other limits are held (another release runs too), the smallest counts. */
  readonly limit: number;
  /** Who asks: a job, or one attempt of it. It has one slot of a key at most: asking again replaces its own. */
  readonly holder: string;
  /**
   * Its name while it waits. A rate gives each attempt a slot of its own, and those that are refused wait as one. A holder that gets a slot
   * waits no more under this name. @default `holder`
   */
  readonly waiter?: string;
  /** The lease's token. Only who has it can extend or free the slot. */
  readonly owner: string;
  /** The slot ends by itself after so long, by the store's clock. Whole: a fraction is rounded up. */
  readonly holdMs: number;
  /** Its place among those that wait: the lowest comes first. */
  readonly rank: number;
  /** Where the job waits, for those that wake it. */
  readonly queue: string;
}

export type SlotAnswer = {
  /** The one that counts: the smallest of this request and of the slots that others have. */
  readonly limit: number;
  /** The largest of the same. */
  readonly largest: number;
} & ({ readonly taken: true } | ({ readonly taken: false } & RefusedSlot));

export interface RefusedSlot {
  /** So many jobs wait before it. Counted up to 1,000, or as far as the store remembers those that wait. */
  readonly ahead: number;
  /**
   * When a slot is its, if nobody frees one and nobody steps back: until the first slot in use ends, or the hold of the key, and
   * then `holdMs` for every `limit` that are ahead. At least 1; `Infinity` = not before a reset.
   */
  readonly waitMs: number;
}

/** A slot that was taken. */
export interface TakenSlot {
  readonly key: string;
  readonly holder: string;
  readonly owner: string;
}

/** A job that was refused a slot and has not asked since. */
export interface SlotWaiter {
  readonly key: string;
  /** Its `waiter`, where its request had one. */
  readonly holder: string;
  readonly queue: string;
}

export interface LimitState {
  readonly key: string;
  /** The smallest of the slots in use; `null` = none is. */
  readonly limit: number | null;
  /** In use now. */
  readonly used: number;
  /** At most 20, those that end first. */
  readonly slots: readonly { readonly holder: string; readonly until: number }[];
  /** Nobody gets a slot until then; `null` = the key is not held. */
  readonly heldUntil: number | null;
  /**
   * Jobs that wait for it, counted up to 10,000, or as far as the store remembers them. One that was cleared or moved meanwhile is still
   * counted until its turn.
   */
  readonly waiting: number;
}

/** Each call is atomic per key, and stale owners change nothing. What has ended is forgotten without being asked for. */
export interface LimitStore {
  /** A key holds no more slots than these. An app with a larger limit is not connected. @default any number */
  readonly mostSlots?: number;
  /** How many slots of a key that has so many it gives out in a second. A faster rate could never be reached. @default any number */
  mostPerSecond?(slots: number): number;
  /**
   * One answer per request, in order. A refused job becomes a waiter of the key, until it gets a slot, is woken, or has not asked for a day
   * after its `waitMs`; a slot that it has stays. A store may remember only those of the lowest ranks, some hundred: the others come by
   * themselves, when their `waitMs` is over.
   */
  take(requests: readonly SlotRequest[]): Promise<readonly SlotAnswer[]>;
  /** Moves their end to now + `holdMs`. `false` = the slot had ended or has another owner. */
  extend(slots: readonly TakenSlot[], holdMs: number): Promise<readonly boolean[]>;
  /**
   * Gives slots back; those of other owners stay. Resolves with waiters that may come now, lowest rank first: one per slot that this call
   * gave back, as far as slots are free by the smallest limit of the slots in use and of the first that waits. They are waiters no more.
   */
  free(slots: readonly TakenSlot[]): Promise<readonly SlotWaiter[]>;
  /** Takes waiters out, lowest rank first: at most `max`, and no more than there are free slots; none while the key is held. */
  wake(key: string, max: number): Promise<readonly SlotWaiter[]>;
  /** Nobody gets a slot of the key for so long. A shorter hold than the present one changes nothing; `Infinity` = until a reset. */
  hold(key: string, ms: number): Promise<void>;
  /** Frees all slots and ends the hold. Waiters stay: `wake` takes them out. `false` = there was neither. */
  reset(key: string): Promise<boolean>;
  /** Keys that begin with `prefix` and are in use, held, or waited for, in the order of their characters. */
  list(filter: {
    readonly prefix?: string;
    readonly after?: string;
    readonly max?: number;
    /** Asked for keys that are waited for: where there are none, a store may answer so at once. It may also answer as without it. */
    readonly waiting?: true;
  }): Promise<readonly LimitState[]>;
  /**
   * Keys that are held until a reset, of those that begin with `prefix`, which ends with the first colon of them. For who asks every few
   * seconds, where `list` costs much: one read if there is none. Without it `list` is asked.
   */
  heldUntilReset?(prefix: string): Promise<readonly string[]>;
  /** Takes them out of every line: they have ended, or will not ask again. Wakes nobody. */
  leave(holders: readonly string[]): Promise<void>;
  /** The keys that are waited for under this name. */
  waitsFor(holder: string): Promise<readonly string[]>;
}
