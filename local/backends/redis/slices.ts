/** Parts of at most `size` items: a script may not run for long, and Lua unpacks some 8,000 values at most. */
export function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
