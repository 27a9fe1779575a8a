/**
 * The runs of a worker. Not a Set: a Set that takes in and gives out all the time is rebuilt again and again, each old table
 * keeps a pointer to the next one, and once one of them is old, all that was ever in a later one waits for a full collection.
 * Over 20,000 jobs that was a third of what their runs and messages took.
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

  /** One that is in none yet. */
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

  /** Those of now, whatever ends meanwhile. */
  [Symbol.iterator](): Iterator<Run> {
    return this.#runs.slice().values();
  }
}
