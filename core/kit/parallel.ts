/** Runs `work` for every item, `mostAtOnce` at a time: more would only wait for a connection. Rejects with the first failure. */
export async function forEach<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
  mostAtOnce = 32,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  async function workThrough(): Promise<void> {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value);
  }
  await Promise.all(Array.from({ length: mostAtOnce }, workThrough));
}

/**
 * Joins the calls of one turn of the event loop into one call. The answers are in the order of the items.
 */
export function together<T, R>(
  call: (items: readonly T[]) => Promise<readonly R[]>,
): (item: T) => Promise<R> {
  let items: T[] = [];
  let answers: Promise<readonly R[]> | null = null;
  return async (item) => {
    const at = items.push(item) - 1;
    answers ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      const all = items;
      items = [];
      answers = null;
      return call(all);
    });
    return (await answers)[at]!;
  };
}
