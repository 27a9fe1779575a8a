/**
 * What a backend brings to its law suites, and how a suite runs a law. The suites use `node:assert` and a runner that
 * is handed in (vitest's, node:test's), so that anybody can hold a backend of their own against them.
 */

import type { QueueBackend } from '../../core/contract.ts';
import type { Retention } from '../../core/store.ts';
import { createKit, type Kit } from './kit.ts';

export interface Runner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}

export interface OpenOptions {
  readonly retention?: Partial<Retention>;
}

/** One empty backend, used by one law. */
export interface Bench {
  readonly backend: QueueBackend;
  /** The same storage opened once more, as another process would have it; races are then run over both. */
  readonly peer?: QueueBackend;
  /** The backend's own time, epoch ms. */
  now(): number;
  /** Lets so much time pass: moves a virtual clock, or waits. */
  advance(ms: number): Promise<void> | void;
  /** Follows every law; the law itself may have closed the backend already. */
  close(): Promise<void>;
}

/** Topics that a queue may honestly be without; its harness says so, and `docs/backends.md` repeats it. */
export type Lack = 'order' | 'duplicates' | 'dead letters' | 'administration';

export interface Harness {
  open(options?: OpenOptions): Promise<Bench>;
  readonly lacks?: readonly Lack[];
  /** How long a broker may take to hand out a message that is ready. @default 0, for those that live in our time */
  readonly patienceMs?: number;
}

/** Defines one law: its name says what must hold, `check` proves it on a bench of its own. */
export type Law = (name: string, check: (t: Kit) => Promise<void>, options?: OpenOptions) => void;

export function lawsOf(harness: Harness, runner: Runner): Law {
  return (name, check, options) =>
    runner.it(name, async () => {
      const bench = await harness.open(options);
      try {
        await check(createKit(bench, harness.patienceMs ?? 0));
      } finally {
        await bench.close();
      }
    });
}
