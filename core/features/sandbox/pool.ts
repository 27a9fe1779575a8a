/** Keeps isolates warm: importing a module costs far more than a job, so a healthy isolate also runs the next job. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Isolation } from '../../kernel/app/isolation.ts';
import { type Isolate, startIsolate } from './isolate.ts';

export type Pool = ReturnType<typeof createPool>;

/** An idle isolate takes some 10 MiB (thread) or 50 MiB (process), so it is ended after this time. */
const defaultIdleMs = 30_000;
/** `end()` waits this long, because a thread may run code that cannot be stopped. */
const patienceMs = 1_000;

export function createPool({ idleMs = defaultIdleMs }: { idleMs?: number } = {}) {
  /** Least recently used first. */
  const idle = new Map<Isolate, NodeJS.Timeout>();
  const busy = new Set<Isolate>();
  const dying = new Set<Isolate>();
  /** The most isolates that were ever busy at once, at most the worker's concurrency. No more than these are kept. */
  let peak = 0;

  function kill(isolate: Isolate): void {
    busy.delete(isolate);
    clearTimeout(idle.get(isolate));
    idle.delete(isolate);
    dying.add(isolate);
    isolate.kill();
  }

  function start(isolation: Isolation): Isolate {
    const isolate = startIsolate(isolation);
    void isolate.gone.then(() => {
      clearTimeout(idle.get(isolate));
      for (const set of [idle, busy, dying]) set.delete(isolate);
    });
    return isolate;
  }

  function warm({ kind, module, maxMemoryMb }: Isolation): Isolate | undefined {
    for (const isolate of [...idle.keys()].reverse()) {
      const has = isolate.isolation;
      if (has.kind === kind && has.module === module && has.maxMemoryMb === maxMemoryMb) return isolate;
    }
    return undefined;
  }

  function trim(): void {
    for (const isolate of idle.keys()) if (idle.size + busy.size > peak) kill(isolate);
  }

  return {
    /** A warm isolate for this module, or a new one. */
    take(isolation: Isolation): Isolate {
      const isolate = warm(isolation) ?? start(isolation);
      clearTimeout(idle.get(isolate));
      idle.delete(isolate);
      busy.add(isolate);
      isolate.hold(true);
      peak = Math.max(peak, busy.size);
      trim();
      return isolate;
    },
    /** Marks an isolate as stopping: it gets no job until `give` returns it. */
    ending(isolate: Isolate): void {
      busy.delete(isolate);
      dying.add(isolate);
    },
    /** Returns an isolate whose job has ended. */
    give(isolate: Isolate, healthy: boolean) {
      busy.delete(isolate);
      dying.delete(isolate);
      isolate.onMessage = () => {};
      isolate.onCrash = () => {};
      if (!healthy) return kill(isolate);
      isolate.hold(false);
      idle.set(isolate, setTimeout(() => kill(isolate), idleMs).unref());
      trim();
    },
    /** Kills idle and stopping isolates. Resolves when they are gone, or after `patienceMs`. */
    async end(): Promise<void> {
      const leaving = [...idle.keys(), ...dying];
      if (leaving.length === 0) return;
      for (const isolate of leaving) {
        isolate.hold(true); // else a program with nothing else to do would end during this wait
        kill(isolate);
      }
      const gone = Promise.all(leaving.map((isolate) => isolate.gone));
      await Promise.race([gone, delay(patienceMs, undefined, { ref: false })]);
      for (const isolate of leaving) isolate.hold(false);
    },
    /** All living isolates, and the idle ones; for tests and measurements. */
    all: (): Isolate[] => [...idle.keys(), ...busy, ...dying],
    idle: (): Isolate[] => [...idle.keys()],
  };
}
