/** How many jobs are moved at once: many for speed, but no more than fit into memory and into one statement. */

import type { MovedJob } from './contract.ts';

const mostBytes = 8 * 1024 * 1024;
const first = 50;

export interface Pages {
  /** Of the next page. */
  size(): number;
  /** Learns from a page how large its jobs are. */
  saw(jobs: readonly MovedJob[]): void;
}

export function createPages(most: number): Pages {
  let size = Math.min(first, most);
  return {
    size: () => size,
    saw(jobs) {
      if (jobs.length === 0) return;
      const bytes = jobs.reduce((sum, { message }) => sum + message.body.length, 0);
      const fitting = Math.floor((mostBytes * jobs.length) / Math.max(1, bytes));
      // One page of small ones says little about the next.
      size = Math.max(1, Math.min(most, fitting, 4 * size));
    },
  };
}
