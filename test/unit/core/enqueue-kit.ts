/** One job, enqueued or refused. */

import { expect } from 'vitest';
import { type Envelope, readEnvelope } from '../../../core/envelope/envelope.ts';
import type { Job } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import { bench, refusalText, ring } from './kit.ts';

/** Enqueues one job and returns its envelope as the queue holds it. */
export async function sent(one: Job, payload: unknown, options?: EnqueueOptions): Promise<Envelope> {
  const b = bench({ jobs: [one], queues: { [options?.queue ?? one.queue]: {} } });
  await b.client.enqueue(one, payload, options);
  b.clock.advance(365 * 86_400_000);
  const { lease } = await b.take(60_000, [options?.queue ?? one.queue]);
  return readEnvelope(lease.body, { ring, now: b.clock.now(), maxBytes: 1_048_576 });
}

/** Enqueues what must be refused; nothing may have been sent. */
export async function refused(one: Job, payload: unknown, options?: EnqueueOptions): Promise<string> {
  const b = bench({ jobs: [one] });
  const text = await refusalText(() => b.client.enqueue(one, payload, options));
  expect(await b.backend.admin!.stats()).toEqual([]);
  return text;
}
