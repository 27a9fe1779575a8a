/** A binary min-heap: `push` and `pop` in O(log n), `peek` in O(1). */
export function createHeap<T>(before: (a: T, b: T) => boolean) {
  const items: T[] = [];
  function up(from: number): void {
    let at = from;
    const item = items[at]!;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(item, items[parent]!)) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = item;
  }
  function down(): void {
    let at = 0;
    const item = items[0]!;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && before(items[child + 1]!, items[child]!)) child++;
      if (!before(items[child]!, item)) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = item;
  }
  return {
    push(item: T): void {
      items.push(item);
      up(items.length - 1);
    },
    pop(): T | undefined {
      const first = items[0];
      const last = items.pop();
      if (items.length > 0) {
        items[0] = last!;
        down();
      }
      return first;
    },
    peek: (): T | undefined => items[0],
  };
}
