/** What the core tests share: an app on a queue in memory with a clock of its own, and one attempt at a time. */

import * as z from 'zod';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { JobSettler, QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import type { Envelope } from '../../../core/envelope/envelope.ts';
import { keyRing } from '../../../core/envelope/signing.ts';
import { writeEnvelope } from '../../../core/envelope/write-envelope.ts';
import { createApp } from '../../../core/features/table.ts';
import type { AppOptions } from '../../../core/kernel/app/app.ts';
import { defineJob, type Job, type JobDefinition } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { AttemptResult } from '../../../core/kernel/attempt/attempt.ts';
import { createRun, type Run } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { eventsIn } from '../../kit/events.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

export const startMs = Date.UTC(2026, 0, 15, 12);
export const secret = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
export const ring = keyRing([{ kid: 'k1', secret: secret(1) }]);
export const anything = z.any();

/** A job that takes any payload and does nothing, unless `parts` say otherwise. */
export function job(parts: Partial<JobDefinition<typeof anything>> = {}): Job {
  return defineJob({ name: 'work', payload: anything, handle: () => {}, ...parts });
}

export interface BenchOptions extends Partial<AppOptions> {
  readonly stores?: Partial<Stores>;
  /** Stands before the backend's own settle verbs. */
  readonly settler?: (backend: QueueBackend) => JobSettler;
  /** Stands before the whole backend. */
  readonly wrap?: (backend: QueueBackend) => QueueBackend;
}

/** An app with one memory queue, of which the test is the worker. */
export function bench(options: BenchOptions) {
  const { stores, settler, wrap = (to) => to, ...appOptions } = options;
  const clock = createVirtualClock(startMs);
  const backend = wrap(memory({ clock }));
  const events: LongshoreEvent[] = [];
  let ids = 0;
  const app = createApp({
    jobs: [],
    signing: ring,
    clock,
    random: () => 0.5,
    newId: () => `id-${++ids}`,
    // What is enqueued is an affair of who counts it: tests of attempts compare all that is told.
    on: (event) => event.type !== 'job.enqueued' && events.push(event),
    ...appOptions,
  });
  const client = connect(app, backend, stores ? { store: stores } : {});
  const ports = { client, settler: settler?.(backend) ?? backend };
  const queues = app.queues.length > 0 ? app.queues : ['default'];

  /** Leases the next ready message. */
  async function take(leaseMs = 60_000, from: readonly string[] = queues): Promise<Run> {
    const [lease] = await backend.fetch({ queues: from, max: 1, leaseMs, waitMs: 0 });
    if (!lease) throw new Error('Expected a ready message, found none.');
    return createRun(lease);
  }
  const run = (one: Run): Promise<AttemptResult> => attempt(app, ports, one);

  return {
    app,
    backend,
    client,
    clock,
    events,
    take,
    run,
    /** Leases the next ready message and makes its attempt. */
    next: async (): Promise<AttemptResult> => run(await take()),
    /** Enqueues and makes the first attempt. */
    async once(one: Job, payload: unknown = {}, how: EnqueueOptions = {}): Promise<AttemptResult> {
      await client.enqueue(one, payload, how);
      return run(await take(60_000, [how.queue ?? one.queue]));
    },
    /** Puts a message into the queue as somebody with access to the queue, but not to this code, would. */
    async put(body: string, queue = 'default'): Promise<void> {
      const id = `put-${++ids}`;
      await backend.enqueue([
        { id, queue, job: '', body, priority: 5, notBefore: null, group: null, tenantId: null },
      ]);
    },
    deadLetters: () => backend.admin!.deadLetters.list({}),
    kinds: () => events.map(({ type }) => type),
    eventsOf: eventsIn(events),
  };
}

export type Bench = ReturnType<typeof bench>;

/** The members of a good envelope for `job()`, signed by the ring of these tests. */
export function envelope(parts: Partial<Envelope> = {}): string {
  return writeEnvelope(
    {
      v: 1,
      job: 'work',
      payload: {},
      queue: 'default',
      priority: 5,
      maxRetries: 3,
      attempts: 0,
      name: null,
      identifier: 'id-0',
      idempotencyKey: null,
      schedule: null,
      issuedAt: startMs,
      expiresAt: null,
      context: null,
      ...parts,
    },
    ring,
  );
}

/** The refusal that `work` ends in; anything else it does fails the test. */
export async function refusal(work: () => unknown): Promise<LongshoreError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof LongshoreError) return error;
    throw error;
  }
  throw new Error('Expected a LongshoreError, nothing was thrown.');
}

/** `CODE: message` of the refusal, as one line to compare. */
export async function refusalText(work: () => unknown): Promise<string> {
  const { code, message } = await refusal(work);
  return `${code}: ${message}`;
}

/** Resolves when `happened` does, without letting virtual time pass. */
export async function until(happened: () => boolean): Promise<void> {
  for (let turns = 0; !happened(); turns++) {
    if (turns === 1000) throw new Error('Expected it to happen within 1000 turns of the event loop.');
    await new Promise(setImmediate);
  }
}
