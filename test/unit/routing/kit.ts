/** An app with two backends: one in memory, and a SQLite file. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import * as z from 'zod';
import {
  type Contract,
  createApp,
  defineJob,
  type LongshoreEvent,
  PermanentError,
} from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { eventsIn } from '../../kit/events.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { ring } from '../core/kit.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-routing-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

const payload = z.object({ n: z.number() });

/** `mail` belongs to `default`, `thumb` by itself and `resize` by its queue to `fast`. A payload below zero dies. */
export function createBench(options: Partial<Parameters<typeof createApp>[0]> = {}) {
  const clock = createVirtualClock();
  const events: LongshoreEvent[] = [];
  const ran: string[] = [];
  const handle = async ({ n }: { n: number }, { job }: { job: string }) => {
    ran.push(`${job} ${n}`);
    if (n < 0) throw new PermanentError('below zero');
    return n;
  };
  const mail = defineJob({ name: 'mail', payload, handle });
  const thumb = defineJob({ name: 'thumb', backend: 'fast', payload, handle });
  const resize = defineJob({ name: 'resize', queue: 'images', payload, handle });
  /** Enqueues both, from wherever it runs. */
  const both = defineJob({
    name: 'both',
    queue: 'images',
    payload,
    async handle({ n }, ctx) {
      await ctx.enqueue(mail, { n });
      await ctx.enqueue(thumb, { n });
    },
  });
  const app = createApp({
    jobs: [mail, thumb, resize, both],
    queues: { images: { backend: 'fast' } },
    signing: ring,
    clock,
    on: (event) => events.push(event),
    ...options,
  });
  const backends = {
    default: memory({ clock }),
    fast: sqlite({ path: join(folder, `${++files}.db`), clock }),
  };
  onTestFinished(() => backends.fast.close());
  return { app, clock, events, eventsOf: eventsIn(events), ran, backends, mail, thumb, resize, both };
}

/** Names of the jobs that are ready there, with their queue. */
export async function readyOn(
  backend: Contract.QueueBackend,
  queues: readonly string[] = ['default', 'images'],
): Promise<string[]> {
  const leases = await backend.fetch({ queues, max: 100, leaseMs: 60_000, waitMs: 0 });
  return leases.map(({ queue, body }) => `${JSON.parse(body).job} in ${queue}`).sort();
}
