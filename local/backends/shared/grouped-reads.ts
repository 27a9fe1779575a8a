/** Reads of single jobs that come together share a query: thousands may wait for their jobs, and look when their pauses are over. */

/** What comes meanwhile goes with the next one, which begins after the call: so a caller reads what was written before. */
const mostUnderWay = 2;
const mostIds = 500;

interface Reader<Found> {
  readonly id: string;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** @param read answers how to find the answer for each of the ids; what that throws is told to those who asked for it */
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
