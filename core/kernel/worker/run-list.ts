/**
 * The runs of a worker. Not a Set: a Set under constant change is rebuilt again and again. Each old table points to the next
 * one, so once a table is in the old generation, everything in later ones waits for a full collection. Over 20,000 jobs that
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

  /** Expects a run that is in no list. */
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

  /** A snapshot: runs may end meanwhile. */
  [Symbol.iterator](): Iterator<Run> {
    return this.#runs.slice().values();
  }
}
