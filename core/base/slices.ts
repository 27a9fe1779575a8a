/** The items in parts of at most `size`. */
export function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Whether it is an iterable object. A string does not count. */
export const isIterable = (items: unknown): boolean =>
  typeof items === 'object' && items !== null && (Symbol.asyncIterator in items || Symbol.iterator in items);
