/** Reads of single jobs at the same time share a query: thousands of callers may poll for the ends of their jobs. */

/** A later read joins the next query, which begins after the call: so a caller sees everything written before its call. */
const mostUnderWay = 2;
const mostIds = 500;

interface Reader<Found> {
  readonly id: string;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** @param read returns a function from id to answer. If that throws, only the callers with this id get the error */
export function groupedReads<Found>(
  read: (ids: readonly string[]) => Promise<(id: string) => Found>,
): (id: string) => Promise<Found> {
  const waiting: Reader<Found>[] = [];
  let underWay = 0;
  let scheduled = false;

  function flush(): void {
    scheduled = false;
    while (waiting.length > 0 && underWay < mostUnderWay) void readGroup(waiting.splice(0, mostIds));
  }

  async function readGroup(group: readonly Reader<Found>[]): Promise<void> {
    underWay++;
    try {
      const foundOf = await read([...new Set(group.map(({ id }) => id))]);
      for (const { id, resolve, reject } of group) {
        try {
          resolve(foundOf(id));
        } catch (error) {
          reject(error);
        }
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    underWay--;
    flush();
  }

  return (id) =>
    new Promise((resolve, reject) => {
      waiting.push({ id, resolve, reject });
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(flush); // after all other calls of this turn
    });
}
