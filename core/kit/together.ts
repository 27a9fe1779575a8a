/**
 * Calls of one turn of the event loop as one call: jobs that wait for the same thing hear at the same moment that they go on waiting.
 * The answers are in the order of the items.
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
