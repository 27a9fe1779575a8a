/**
 * The one app that every Longshore row runs: a full zod schema, a signature, a payload of eight members and 250 bytes, and a handler
 * that does nothing. Peers get the same payload, and check nothing.
 */

import * as z from 'zod';
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
  readonly to: string;
  readonly template: string;
  readonly locale: string;
  readonly urgent: boolean;
  readonly tags: readonly string[];
  readonly text: string;
}

export interface BenchApp {
  readonly app: App;
  readonly job: Job<Payload>;
}

export const schema = z.object({
  n: z.int(),
  at: z.number(),
  to: z.email(),
  template: z.string().min(1),
  locale: z.enum(['en', 'de']),
  urgent: z.boolean(),
  tags: z.array(z.string()),
  text: z.string(),
});

export function benchApp(handle: (payload: Payload) => void = () => {}): BenchApp {
  const job = defineJob({
    name: 'bench.noop',
    queue: 'bench',
    payload: schema,
    handle,
  });
  const signing = keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(7) }]);
  return { app: createApp({ jobs: [job], signing }), job };
}

/** The length of a payload's JSON. */
const payloadBytes = 250;

export function payload(n: number, at = 0): Payload {
  const to = 'someone@example.com';
  const rest = { n, at, to, template: 'welcome', locale: 'en', urgent: false, tags: ['bench', 'mail'] };
  const empty = JSON.stringify({ ...rest, text: '' }).length;
  return { ...rest, text: 'x'.repeat(Math.max(0, payloadBytes - empty)) };
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

/** Makes texts as long as an envelope, for comparisons that have none. */
export async function bodies(): Promise<(n: number, at: number) => string> {
  const { length } = await sampleBody();
  return (n, at) => {
    const data = payload(n, at);
    const text = data.text.padEnd(data.text.length + length - payloadBytes, 'x');
    return JSON.stringify({ ...data, text });
  };
}
