/** Callbacks of this process that wait for the end of a job. */

export type EndWatchers = ReturnType<typeof createEndWatchers>;

export function createEndWatchers() {
  const looks = new Map<string, Set<() => void>>();
  const tell = (id: string): void => {
    for (const look of looks.get(id) ?? []) look();
  };
  return {
    /** Number of watched jobs. */
    get size() {
      return looks.size;
    },
    ids: (): string[] => [...looks.keys()],
    has: (id: string): boolean => looks.has(id),
    /** Returns a function that stops the watch. */
    add(id: string, look: () => void): () => void {
      const mine = () => look(); // the same function may watch twice
      const known = looks.get(id);
      if (known) known.add(mine);
      else looks.set(id, new Set([mine]));
      return () => {
        const left = looks.get(id);
        if (left?.delete(mine) && left.size === 0) looks.delete(id);
      };
    },
    tell,
    tellAll(): void {
      for (const id of looks.keys()) tell(id);
    },
  };
}
