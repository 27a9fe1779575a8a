/** A worker on the memory backend under a virtual clock, with handlers that end when the test says so. */

import * as z from 'zod';
import { sleep } from '../../../core/base/clock.ts';
import {
  type AppOptions,
  type Contract,
  connect,
  createApp,
  defineJob,
  keyRing,
  type LongshoreEvent,
  startWorker,
  type WorkerOptions,
} from '../../../core/index.ts';
import type { HandlerContext } from '../../../core/kernel/app/job.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { eventsIn } from '../../kit/events.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';

export interface Running {
  readonly n: number;
  readonly ctx: HandlerContext;
  finish(): void;
  fail(error: Error): void;
}

/** Lets everything that needs no time happen: promises, immediates, grouped acks. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise(setImmediate);
}

/** A backend whose fetches take `ms` of virtual time, so that a worker holds jobs ahead. */
export const distant = (
  backend: Contract.QueueBackend,
  clock: VirtualClock,
  ms: number,
): Contract.QueueBackend => ({
  ...backend,
  async fetch(request) {
    const leases = await backend.fetch(request);
    await sleep(clock, ms);
    return leases;
  },
});

export function createBench(
  job: {
    timeoutMs?: number;
    maxRetries?: number;
    idempotencyKey?: (payload: { n: number }) => string | null;
  } = {},
  options: Partial<AppOptions> = {},
) {
  const clock = createVirtualClock();
  const running: Running[] = [];
  const events: LongshoreEvent[] = [];
  let peak = 0;
  const held = defineJob({
    name: 'held',
    payload: z.object({ n: z.number() }),
    ...job,
    handle: ({ n }, ctx) =>
      new Promise<void>((resolve, reject) => {
        const end = (how: () => void) => () => {
          running.splice(running.indexOf(one), 1);
          how();
        };
        const one: Running = { n, ctx, finish: end(resolve), fail: (error) => end(() => reject(error))() };
        running.push(one);
        peak = Math.max(peak, running.length);
      }),
  });
  const quick = defineJob({ name: 'quick', payload: z.object({ n: z.number() }), async handle() {} });
  const app = createApp({
    jobs: [held, quick],
    clock,
    random: () => 0.5,
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    on: (event) => events.push(event),
    ...options,
  });
  const backend = memory({ clock });
  const client = connect(app, backend);
  return {
    app,
    backend,
    client,
    clock,
    held,
    quick,
    running,
    events,
    peak: () => peak,
    eventsOf: eventsIn(events),
    enqueue: async (count: number, which: 'held' | 'quick' = 'held') => {
      const payloads = Array.from({ length: count }, (_, n) => ({ n }));
      const results = await client.enqueueMany(which === 'held' ? held : quick, payloads);
      return results.map(({ id }) => id);
    },
    /** Starts a worker of one slot that holds `ahead` jobs of `held` besides the running one. */
    async startHolding(ahead: number, options: Partial<WorkerOptions> = {}) {
      const payloads = Array.from({ length: ahead + 1 }, (_, n) => ({ n }));
      await client.enqueueMany(
        quick,
        Array.from({ length: 8 }, (_, n) => ({ n })),
      );
      await client.enqueueMany(held, payloads);
      const near = options.backend ?? backend;
      const worker = startWorker(app, { ...options, backend: distant(near, clock, 1), concurrency: 1 });
      for (let ms = 0; ms < 25; ms++) {
        clock.advance(1);
        await settle();
      }
      return worker;
    },
    start: (options: Partial<WorkerOptions> & { backend?: Contract.QueueBackend } = {}) =>
      startWorker(app, { backend, ...options }),
    /** Moves time in steps, letting the worker act after each. */
    pass: async (ms: number, stepMs = ms) => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(Math.min(stepMs, ms - passed));
        await settle();
      }
    },
  };
}
