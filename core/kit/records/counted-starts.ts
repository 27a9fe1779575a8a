/**
 * The slots of a key, where those of a large rate are merely counted: one by one, a thousand of them are 150 KB, written anew with each start.
 * A start is counted once it can no longer be given back, and then ends up to a hundredth of its window later.
 */

export interface StoredSlot {
  readonly holder: string;
  readonly owner: string;
  readonly until: number;
  /** With `starts`: a limit for version 0.1.0, which takes all of them for one slot and keeps what it does not know. */
  readonly limit: number;
  /** Set for a start that may be counted. */
  readonly holdMs?: number;
  readonly starts?: Starts;
}

/** Starts by the moments when they end: those of `counts[i]` end at `(first + i) * stepMs`. */
interface Starts {
  readonly limit: number;
  readonly stepMs: number;
  readonly first: number;
  readonly counts: readonly number[];
}

const stepsOfWindow = 100;
/** Slots of smaller limits keep their names: they have room, and end to the millisecond. */
const mostNamed = 10;
/** A start that is older has reached its handler. */
const unsureMs = 1_000;
/** Unsure starts that keep their names. */
const mostUnsure = 50;

export const limitOf = ({ starts, limit }: StoredSlot): number => starts?.limit ?? limit;

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);
const sizeOf = ({ starts }: StoredSlot): number => (starts ? sumOf(starts.counts) : 1);
export const slotsIn = (slots: readonly StoredSlot[]): number => sumOf(slots.map(sizeOf));

export const firstEndOf = ({ starts, until }: StoredSlot): number =>
  starts ? starts.first * starts.stepMs : until;

/** When the slots end, each as often as there are slots; the first one first. */
export function endsOf(slots: readonly StoredSlot[]): number[] {
  const ends = slots.flatMap(({ starts, until }) =>
    starts
      ? starts.counts.flatMap((count, i) => new Array<number>(count).fill((starts.first + i) * starts.stepMs))
      : until,
  );
  return ends.sort((a, b) => a - b);
}

const stepOf = (holdMs: number): number => Math.ceil(holdMs / stepsOfWindow);

/** How long such a slot is held at most. */
export const heldMs = ({ limit, holdMs }: { readonly limit: number; readonly holdMs: number }): number =>
  limit > mostNamed ? holdMs + stepOf(holdMs) : holdMs;

/** Without the starts that have ended. The slot as a whole has not. */
export function withoutEnded(slot: StoredSlot, now: number): StoredSlot {
  const { starts } = slot;
  if (!starts || firstEndOf(slot) > now) return slot;
  const ended = starts.counts.findIndex((count, i) => count > 0 && (starts.first + i) * starts.stepMs > now);
  return { ...slot, starts: { ...starts, first: starts.first + ended, counts: starts.counts.slice(ended) } };
}

/** Counts the starts that no one will give back. */
export function withCountedStarts(slots: readonly StoredSlot[], now: number): readonly StoredSlot[] {
  const unsure = slots.filter(({ holdMs, limit }) => holdMs !== undefined && limit > mostNamed);
  const sure = unsure.filter(
    ({ until, holdMs }, i) => until - holdMs! <= now - unsureMs || i < unsure.length - mostUnsure,
  );
  if (sure.length === 0) return slots;
  const rest = new Set(slots.filter((slot) => !sure.includes(slot)));
  for (const [kind, some] of Map.groupBy(sure, ({ limit, holdMs }) => `${limit} in ${holdMs}`)) {
    const [{ limit, holdMs }] = some as [StoredSlot];
    const stepMs = stepOf(holdMs!);
    const old = slots.find(({ holder, starts }) => holder === kind && starts);
    if (old) rest.delete(old);
    rest.add(
      asOneSlot(kind, limit, stepMs, [...(old ? endsOf([old]) : []), ...some.map(({ until }) => until)]),
    );
  }
  return [...rest];
}

function asOneSlot(holder: string, limit: number, stepMs: number, ends: readonly number[]): StoredSlot {
  const steps = ends.map((end) => Math.ceil(end / stepMs));
  const first = Math.min(...steps);
  const last = Math.max(...steps);
  const counts = new Array<number>(last - first + 1).fill(0);
  for (const step of steps) counts[step - first]!++;
  // For version 0.1.0 this is one slot in use, with as much room beside it as there is.
  const seen = Math.max(1, limit + 1 - ends.length);
  return { holder, owner: '', until: last * stepMs, limit: seen, starts: { limit, stepMs, first, counts } };
}
