/** The rules of limits, over the state of one key as plain data: which job gets a slot, and which one is next. */

import type {
  LimitState,
  SlotAnswer,
  SlotRequest,
  SlotWaiter,
  TakenSlot,
} from '../../contract/derived/limits.ts';

export interface StoredLimit {
  readonly slots: readonly {
    readonly holder: string;
    readonly owner: string;
    readonly until: number;
    readonly limit: number;
  }[];
  /** Lowest rank first. */
  readonly waiters: readonly {
    readonly holder: string;
    readonly queue: string;
    readonly rank: number;
    readonly until: number;
    readonly limit: number;
  }[];
  readonly heldUntil: number | null;
}

/** The state of a key that may keep a job from a slot. */
export interface Obstacles {
  /** Slots in use by other jobs. */
  readonly used: number;
  /** The smallest limit of these slots; `null` = there are none. */
  readonly limit: number | null;
  /** The largest limit of these slots; `null` = there are none. */
  readonly largest: number | null;
  /** When the first of these slots ends; `null` = there are none. */
  readonly firstEnd: number | null;
  readonly heldUntil: number | null;
}

/** The end of a hold that lasts until a reset: JSON and databases have no `Infinity`. */
export const forever = Number.MAX_SAFE_INTEGER;
export const mostAhead = 1_000;
export const mostCountedWaiters = 10_000;
export const mostShownSlots = 20;
export const mostShownKeys = 100;

/** A waiter that has not asked again this long after its time is forgotten: the job is gone, or asks later by itself. */
export const forgetMs = 86_400_000;
export const mostWaitMs = 7 * forgetMs;

/** @param countAhead called only if no slot is free */
export function answerOf(
  { limit: asked, holdMs }: Pick<SlotRequest, 'limit' | 'holdMs'>,
  { used, limit: smallest, largest: most, firstEnd, heldUntil }: Obstacles,
  now: number,
  countAhead: () => number,
): SlotAnswer {
  const limit = Math.min(asked, smallest ?? asked);
  const largest = Math.max(asked, most ?? asked);
  if (used < limit && heldUntil === null) return { taken: true, limit, largest };
  const ahead = countAhead();
  const begins = Math.max(heldUntil ?? 0, used < limit ? 0 : firstEnd!);
  const waitMs = begins - now + Math.floor(ahead / limit) * Math.ceil(holdMs);
  return { taken: false, limit, largest, ahead, waitMs: begins >= forever ? Infinity : Math.max(1, waitMs) };
}

export const waiterUntil = (now: number, waitMs: number): number =>
  now + Math.min(waitMs, mostWaitMs) + forgetMs;

export const endOfHold = (now: number, ms: number): number => Math.min(now + Math.ceil(ms), forever);
export const shownHold = (until: number): number => (until >= forever ? Infinity : until);

/** The number of free slots, by the smallest of these limits: those of the slots in use and of the first waiter. */
export const freeSlots = (used: number, limits: readonly number[]): number =>
  Math.max(0, Math.min(...limits) - used);

export const emptyLimit: StoredLimit = { slots: [], waiters: [], heldUntil: null };

/** Removes slots, waiters and a hold that have ended. */
export function aliveOf({ slots, waiters, heldUntil }: StoredLimit, now: number): StoredLimit {
  const lives = ({ until }: { readonly until: number }) => until > now;
  return {
    slots: slots.filter(lives),
    waiters: waiters.filter(lives),
    heldUntil: heldUntil !== null && heldUntil > now ? heldUntil : null,
  };
}

/** When all of it has ended; 0 = nothing is there. */
export const endOfLimit = ({ slots, waiters, heldUntil }: StoredLimit): number =>
  [...slots, ...waiters].reduce((end, { until }) => Math.max(end, until), heldUntil ?? 0);

interface Changed<T> {
  readonly state: StoredLimit;
  readonly answer: T;
}

/** @param mostWaiters only this number, with the lowest ranks, are remembered; the others ask again after their wait */
export function taken(
  state: StoredLimit,
  request: SlotRequest,
  now: number,
  mostWaiters = mostAhead,
): Changed<SlotAnswer> {
  const { holder, owner, queue, rank, limit } = request;
  const { waiter = holder } = request;
  const others = state.slots.filter((slot) => slot.holder !== holder);
  const waiters = state.waiters.filter((one) => one.holder !== waiter);
  const obstacles = {
    used: others.length,
    limit: least(others.map((slot) => slot.limit)),
    largest: others.reduce<number | null>((most, slot) => Math.max(most ?? 0, slot.limit), null),
    firstEnd: least(others.map(({ until }) => until)),
    heldUntil: state.heldUntil,
  };
  const place = waiters.findIndex((one) => one.rank > rank || (one.rank === rank && one.holder > waiter));
  const ahead = place < 0 ? waiters.length : place;
  const answer = answerOf(request, obstacles, now, () => Math.min(ahead, mostAhead));
  if (answer.taken) {
    const slot = { holder, owner, until: now + Math.ceil(request.holdMs), limit };
    return { state: { ...state, slots: [...others, slot], waiters }, answer };
  }
  waiters.splice(ahead, 0, { holder: waiter, queue, rank, until: waiterUntil(now, answer.waitMs), limit });
  return { state: { ...state, waiters: waiters.slice(0, mostWaiters) }, answer };
}

type Owned = Pick<TakenSlot, 'holder' | 'owner'>;
const isOf =
  ({ holder, owner }: Owned) =>
  (slot: Owned) =>
    slot.holder === holder && slot.owner === owner;

export function extended(state: StoredLimit, owned: Owned, until: number): Changed<boolean> {
  const slots = state.slots.map((slot) => (isOf(owned)(slot) ? { ...slot, until } : slot));
  return { state: { ...state, slots }, answer: state.slots.some(isOf(owned)) };
}

export function freed(
  state: StoredLimit,
  key: string,
  owned: readonly Owned[],
): Changed<readonly SlotWaiter[]> {
  const slots = state.slots.filter((slot) => !owned.some(isOf(slot)));
  return woken({ ...state, slots }, key, state.slots.length - slots.length);
}

export function woken(state: StoredLimit, key: string, max: number): Changed<readonly SlotWaiter[]> {
  const { slots, waiters, heldUntil } = state;
  const [first] = waiters;
  if (first === undefined || heldUntil !== null) return { state, answer: [] };
  const limits = [first.limit, ...slots.map(({ limit }) => limit)];
  const count = Math.max(0, Math.min(max, freeSlots(slots.length, limits)));
  return {
    state: { ...state, waiters: waiters.slice(count) },
    answer: waiters.slice(0, count).map(({ holder, queue }) => ({ key, holder, queue })),
  };
}

export const left = (state: StoredLimit, holders: ReadonlySet<string>): StoredLimit => ({
  ...state,
  waiters: state.waiters.filter(({ holder }) => !holders.has(holder)),
});

export function held(state: StoredLimit, until: number, now: number): StoredLimit {
  return { ...state, heldUntil: until > Math.max(now, state.heldUntil ?? 0) ? until : state.heldUntil };
}

/** The state that operators see; `null` = the key has no slots, waiters or hold. */
export function shownLimit(key: string, state: StoredLimit): LimitState | null {
  const { slots, waiters, heldUntil } = state;
  if (slots.length + waiters.length === 0 && heldUntil === null) return null;
  return {
    key,
    limit: least(slots.map(({ limit }) => limit)),
    used: slots.length,
    slots: slots
      .map(({ holder, until }) => ({ holder, until }))
      .sort((a, b) => a.until - b.until || (a.holder < b.holder ? -1 : 1))
      .slice(0, mostShownSlots),
    heldUntil: heldUntil === null ? null : shownHold(heldUntil),
    waiting: waiters.length,
  };
}

const least = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : numbers.reduce((a, b) => Math.min(a, b));
