/** Runs `work` for every item, some at a time: more would only wait for a connection. Rejects with the first failure. */
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
