/** Which part of a picture is on the screen, and in which order, as its keys ask for. */

export type Scroller = ReturnType<typeof createScroller>;

/** @param orders what the key `s` goes through */
export function createScroller(orders: readonly [string, ...string[]]) {
  let [first, order] = [0, 0];
  return {
    /** Of the body, at the top of the screen. */
    get first() {
      return first;
    },
    get order() {
      return orders[order]!;
    },
    isOrdered: orders.length > 1,
    /** `false`: a key that says nothing here. */
    takes(keys: string, rows: number): boolean {
      if (keys === 's' && orders.length > 1) order = (order + 1) % orders.length;
      else {
        const step = stepOf(keys, rows);
        if (step === null) return false;
        first = Math.max(0, first + step);
      }
      return true;
    },
    /** Not beyond what there is. */
    keepWithin(most: number): void {
      first = Math.max(0, Math.min(first, most));
    },
  };
}

/** By how many lines these keys scroll: the arrows, page up and down, home and end, and those of vi. */
function stepOf(keys: string, rows: number): number | null {
  const page = Math.max(1, rows - 8);
  const steps: Readonly<Record<string, number>> = {
    ...{ '\u001b[A': -1, '\u001bOA': -1, k: -1, '\u001b[B': 1, '\u001bOB': 1, j: 1 },
    ...{ '\u001b[5~': -page, '\u001b[6~': page, ' ': page },
    ...{ '\u001b[H': -Infinity, '\u001b[1~': -Infinity, g: -Infinity },
    ...{ '\u001b[F': Infinity, '\u001b[4~': Infinity, G: Infinity },
  };
  return Object.hasOwn(steps, keys) ? steps[keys]! : null;
}
