/**
 * The runs of a worker. Not a Set, because V8 rebuilds a Set that changes all the time, and each old table points to the next one:
 * once a table is in the old generation, the objects of all later tables wait for a full collection. Over 20,000 jobs that
 * was a third of the memory of their runs and messages.
 */

import type { Run } from '../attempt/run.ts';

export class RunList implements Iterable<Run> {
  #runs: Run[] = [];

  get size(): number {
    return this.#runs.length;
  }

  has(run: Run): boolean {
    return this.#runs[run.index] === run;
  }

  /** The run must not be in another list. */
  add(run: Run): void {
    run.index = this.#runs.push(run) - 1;
  }

  delete(run: Run): void {
    if (!this.has(run)) return;
    const last = this.#runs.pop()!;
    if (last !== run) {
      this.#runs[run.index] = last;
      last.index = run.index;
    }
  }

  /** Iterates over a snapshot, because runs may end meanwhile. */
  [Symbol.iterator](): Iterator<Run> {
    return this.#runs.slice().values();
  }
}
