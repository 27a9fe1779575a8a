/**
 * The one app that every Longshore row runs: a schema, a signature, a 200-byte payload and a handler that does nothing. The schema
 * is of the smallest library, because peers have none: zod itself takes 2 MB, and checks as fast.
 */

import * as z from 'zod/mini';
import { keyRing } from '../../../core/envelope/signing.ts';
import { createApp } from '../../../core/features/table.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory } from '../../../local/backends/memory/index.ts';

export interface Payload {
  readonly n: number;
  /** On the clock of `nowMs()`. */
  readonly at: number;
  readonly text: string;
}

export interface BenchApp {
  readonly app: App;
  readonly job: Job<Payload>;
}

const schema = z.object({ n: z.number(), at: z.number(), text: z.string() });

export function benchApp(handle: (payload: Payload) => void = () => {}): BenchApp {
  const job = defineJob({
    name: 'bench.noop',
    queue: 'bench',
    payload: schema,
    handle: async (p) => handle(p),
  });
  const signing = keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(7) }]);
  return { app: createApp({ jobs: [job], signing }), job };
}

/** 200 bytes of JSON. */
export function payload(n: number, at = 0): Payload {
  const empty = JSON.stringify({ n, at, text: '' }).length;
  return { n, at, text: 'x'.repeat(Math.max(0, 200 - empty)) };
}

/** Milliseconds on a clock that all processes of a machine share. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export async function enqueueAll(
  client: Client,
  job: Job<Payload>,
  count: number,
  delayMs = 0,
): Promise<void> {
  for (let from = 0; from < count; from += 1000) {
    const payloads = Array.from({ length: Math.min(1000, count - from) }, (_, i) => payload(from + i));
    const results = await client.enqueueMany(job, payloads, delayMs > 0 ? { delayMs } : {});
    const failed = results.find(({ ok }) => !ok);
    if (failed && !failed.ok) throw failed.error;
  }
}

/** A real envelope, for comparisons that must write as many bytes. */
export async function sampleBody(): Promise<string> {
  const { app, job } = benchApp();
  const backend = memory();
  await connect(app, backend).enqueue(job, payload(10_000));
  const [lease] = await backend.fetch({ queues: ['bench'], max: 1, leaseMs: 1000, waitMs: 0 });
  return lease!.body;
}
