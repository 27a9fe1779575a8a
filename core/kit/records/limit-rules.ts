/** The rules of limits, over the state of one key as plain data: which job gets a slot, and which one is next. */

import type {
  LimitState,
  RefusedSlot,
  SlotAnswer,
  SlotRequest,
  SlotWaiter,
  TakenSlot,
} from '../../contract/derived/limits.ts';
import {
  endsOf,
  firstEndOf,
  heldMs,
  limitOf,
  type StoredSlot,
  slotsIn,
  withCountedStarts,
  withoutEnded,
} from './counted-starts.ts';

export interface StoredLimit {
  readonly slots: readonly StoredSlot[];
  /** Lowest rank first. */
  readonly waiters: readonly {
    readonly holder: string;
    readonly queue: string;
    readonly rank: number;
    readonly until: number;
    readonly limit: number;
  }[];
  readonly heldUntil: number | null;
  /** Waiters that nothing can wake: only their number is kept. Absent in texts of version 0.1.0. */
  readonly counted?: { readonly count: number; readonly until: number };
}

/** The texts of counted waiters: their content, and changes to be written. */
export interface WaiterTexts {
  /** The turn of this waiter; `undefined` = it is not counted. */
  turnOf(waiter: string): number | undefined;
  readonly joins: Map<string, number>;
  readonly leaves: Set<string>;
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
export function aliveOf({ slots, waiters, heldUntil, counted }: StoredLimit, now: number): StoredLimit {
  const lives = ({ until }: { readonly until: number }) => until > now;
  return {
    slots: slots.filter(lives).map((slot) => withoutEnded(slot, now)),
    waiters: waiters.filter(lives),
    heldUntil: heldUntil !== null && heldUntil > now ? heldUntil : null,
    ...(counted && counted.count > 0 && lives(counted) && { counted }),
  };
}

/** When all of it has ended; 0 = nothing is there. */
export const endOfLimit = ({ slots, waiters, heldUntil, counted }: StoredLimit): number =>
  [...slots, ...waiters].reduce(
    (end, { until }) => Math.max(end, until),
    Math.max(heldUntil ?? 0, counted?.until ?? 0),
  );

interface Changed<T> {
  readonly state: StoredLimit;
  readonly answer: T;
}

/** @param mostWaiters only this number, with the lowest ranks, are remembered; the others ask again after their wait */
export function taken(
  state: StoredLimit,
  request: SlotRequest,
  now: number,
  texts: WaiterTexts,
  mostWaiters = mostAhead,
): Changed<SlotAnswer> {
  const { holder, owner, queue, rank, limit, holdMs, isStart } = request;
  const { waiter = holder } = request;
  const others = state.slots.filter((slot) => slot.holder !== holder);
  const waiters = state.waiters.filter((one) => one.holder !== waiter);
  const obstacles = {
    used: slotsIn(others),
    limit: least(others.map(limitOf)),
    largest: others.reduce<number | null>((most, slot) => Math.max(most ?? 0, limitOf(slot)), null),
    firstEnd: least(others.map(firstEndOf)),
    heldUntil: state.heldUntil,
  };
  const place = waiters.findIndex((one) => one.rank > rank || (one.rank === rank && one.holder > waiter));
  const ahead = place < 0 ? waiters.length : place;
  const answer = answerOf(request, obstacles, now, () => Math.min(ahead, mostAhead));
  if (answer.taken) {
    const slot = { holder, owner, until: now + Math.ceil(holdMs), limit, ...(isStart && { holdMs }) };
    const slots = isStart ? withCountedStarts([...others, slot], now) : [...others, slot];
    return { state: withoutWaiter({ ...state, slots, waiters }, waiter, texts), answer };
  }
  const rest = waiters.length === state.waiters.length ? state : { ...state, waiters };
  if (request.unwakeable) return countedWaiter(rest, request, { ...obstacles, slots: others }, now, texts);
  waiters.splice(ahead, 0, { holder: waiter, queue, rank, until: waiterUntil(now, answer.waitMs), limit });
  return { state: { ...state, waiters: waiters.slice(0, mostWaiters) }, answer };
}

/** A job that waits for a rate comes within this time after its turn, or is gone. */
const lateMs = 600_000;

/** Counts a refused job once. Each start waits for the end of a slot of its own. */
function countedWaiter(
  state: StoredLimit,
  request: SlotRequest,
  obstacles: Obstacles & { readonly slots: readonly StoredSlot[] },
  now: number,
  texts: WaiterTexts,
): Changed<SlotAnswer> {
  const { waiter = request.holder, isStart } = request;
  const { count, until } = state.counted ?? { count: 0, until: 0 };
  const turn = count > 0 ? texts.turnOf(waiter) : undefined;
  const others = state.waiters.length + count;
  const isDue = isStart && turn !== undefined;
  const ahead = isDue ? 0 : others - (turn === undefined ? 0 : 1);
  const limit = Math.min(request.limit, obstacles.limit ?? request.limit);
  const ownEnd = endsOf(obstacles.slots)[obstacles.used - limit + (ahead % limit)] ?? null;
  const answer = answerOf(
    { limit: request.limit, holdMs: isStart ? heldMs(request) : request.holdMs },
    isStart && ownEnd !== null ? { ...obstacles, firstEnd: ownEnd } : obstacles,
    now,
    () => ahead,
  ) as Extract<SlotAnswer, RefusedSlot>;
  if (turn !== undefined)
    return { state, answer: isDue ? { ...answer, waitMs: Math.max(answer.waitMs, turn - now) } : answer };
  const ownTurn = now + Math.min(answer.waitMs, mostWaitMs);
  texts.joins.set(waiter, ownTurn);
  const end = isStart ? ownTurn + lateMs : waiterUntil(now, answer.waitMs);
  return { state: { ...state, counted: { count: count + 1, until: Math.max(until, end) } }, answer };
}

/** The job has a slot, or has ended: it waits no more. */
function withoutWaiter(state: StoredLimit, waiter: string, texts: WaiterTexts): StoredLimit {
  if (!state.counted || texts.turnOf(waiter) === undefined) return state;
  texts.leaves.add(waiter);
  return fewerCounted(state, 1);
}

function fewerCounted({ counted, ...state }: StoredLimit, count: number): StoredLimit {
  if (!counted || counted.count <= count) return state;
  return { ...state, counted: { ...counted, count: counted.count - count } };
}

/** Counted waiters ask again by themselves, so their number begins anew. */
export const withoutCounted = ({ counted, ...state }: StoredLimit): StoredLimit => state;

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
  const limits = [first.limit, ...slots.map(limitOf)];
  const count = Math.max(0, Math.min(max, freeSlots(slotsIn(slots), limits)));
  return {
    state: { ...state, waiters: waiters.slice(count) },
    answer: waiters.slice(0, count).map(({ holder, queue }) => ({ key, holder, queue })),
  };
}

export function left(state: StoredLimit, holders: ReadonlySet<string>): StoredLimit {
  const waiters = state.waiters.filter(({ holder }) => !holders.has(holder));
  const named = state.waiters.length - waiters.length;
  return fewerCounted({ ...state, waiters }, holders.size - named);
}

export function held(state: StoredLimit, until: number, now: number): StoredLimit {
  return { ...state, heldUntil: until > Math.max(now, state.heldUntil ?? 0) ? until : state.heldUntil };
}

/** The state that operators see; `null` = the key has no slots, waiters or hold. */
export function shownLimit(key: string, state: StoredLimit): LimitState | null {
  const { slots, waiters, heldUntil, counted } = state;
  const waiting = waiters.length + (counted?.count ?? 0);
  if (slots.length + waiting === 0 && heldUntil === null) return null;
  return {
    key,
    limit: least(slots.map(limitOf)),
    used: slotsIn(slots),
    slots: slots
      .flatMap((slot) =>
        slot.starts
          ? endsOf([slot]).map((until) => ({ holder: '', until }))
          : { holder: slot.holder, until: slot.until },
      )
      .sort((a, b) => a.until - b.until || (a.holder < b.holder ? -1 : 1))
      .slice(0, mostShownSlots),
    heldUntil: heldUntil === null ? null : shownHold(heldUntil),
    waiting,
  };
}

const least = (numbers: readonly number[]): number | null =>
  numbers.length === 0 ? null : numbers.reduce((a, b) => Math.min(a, b));
