/** Laws of waking for what clients and attempts do: the jobs that they make ready wake a fetch as well. */

import assert from 'node:assert/strict';
import { closeBreaker } from '../../../core/features/limits/breaker.ts';
import { pauseJob, resumeJob } from '../../../core/features/limits/pause.ts';
import { connect, createApp, defineJob, type HandlerContext } from '../../../core/index.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { appOf, type Parts } from './app.ts';
import { untilHearing, woken } from './backend-waking.ts';
import { hour, type Kit, mail, minute } from './kit.ts';
import type { Law, LawOptions } from './law.ts';
import { type StoppingWorker, stopping } from './stopping-kit.ts';

/** Makes the job of this id ready; without an id it sends a new one. */
interface Step {
  act(): Promise<unknown>;
  readonly id?: string;
}

export function clientWakingLaws(law: Law): void {
  const step = (name: string, prepare: (t: Kit, which: number) => Promise<Step>, options: LawOptions): void =>
    law(
      `${name} wakes a fetch that waits, of this process and of another`,
      async (t) => {
        await untilHearing(t);
        for (const which of t.openings.keys()) {
          const { act, id } = await prepare(t, which);
          const leases = await woken(t, act);
          assert.equal(leases.length, 1);
          if (id !== undefined) assert.ok(leases[0]!.body.includes(id));
          assert.equal(await t.ack(leases[0]!), true);
        }
      },
      options,
    );
  stepsOfLimits(step);
  stepsOfJobs(step);
}

type Declare = (name: string, prepare: (t: Kit, which: number) => Promise<Step>, options: LawOptions) => void;

const job = 'invoice.send';

function stepsOfLimits(declare: Declare): void {
  const step = (
    name: string,
    parts: Parts,
    prepare: (worker: StoppingWorker, put: () => Promise<string>, t: Kit) => Promise<Step>,
    options?: LawOptions,
  ): void =>
    declare(
      name,
      (t, which) => {
        const { workers, put } = stopping(t, parts);
        return prepare(workers[which as 0 | 1], put, t);
      },
      { needs: ['waiting jobs', 'limits'], ...options },
    );
  const single = { concurrency: { limit: 1 } };

  for (const error of [undefined, new Error('no')])
    step(
      `a slot that is given back by a job that ${error ? 'dies' : 'is done'}`,
      { ...single, maxRetries: 0 },
      async (worker, put) => {
        await put();
        const running = await worker.begins();
        const id = await put();
        await worker.waits();
        return { act: () => running.finish(error), id };
      },
    );
  step('resetting a limit', single, async (worker, put) => {
    await put();
    await worker.begins();
    const id = await put();
    await worker.waits();
    const operator = createOperator(worker.client, { actor: 'ann', from: 'law' });
    const { limits } = await operator.limits.list({ max: 10 });
    return { act: () => operator.limits.reset(limits[0]!.key), id };
  });
  step('resuming a job', {}, async (worker, put) => {
    await pauseJob(worker.client, job);
    const id = await put();
    await worker.waits();
    return { act: () => resumeJob(worker.client, job), id };
  });
  step('closing a breaker', { breaker: { failures: 1, openMs: hour } }, async (worker, put) => {
    await put();
    await worker.ends('fail');
    const id = await put();
    await worker.waits();
    return { act: () => closeBreaker(worker.client, job), id };
  });
}

const anything = {
  '~standard': { version: 1, vendor: 'longshore', validate: (value: unknown) => ({ value }) },
} as const;

/** A client of one opening, with a job that does as its payload says, and one that does nothing. */
function jobsOn(t: Kit, which: number) {
  const base = appOf(t);
  const backend = t.openings[which]!;
  const key = `${which}`;
  const handlers: Record<string, (ctx: HandlerContext) => unknown> = {
    ends: () => {},
    'waits for an event': (ctx) => ctx.waitFor('packed', { key, timeoutMs: hour }),
    'waits for a batch': (ctx) => ctx.waitForBatch(`orders-${which}`, { timeoutMs: hour }),
  };
  const does = defineJob({
    name: 'does',
    queue: mail,
    payload: anything,
    handle: (what, ctx) => handlers[what as string]!(ctx),
  });
  const after = defineJob({ name: 'after', queue: mail, payload: anything, handle: () => {} });
  const app = createApp({ jobs: [does, after], signing: base.keyRing(), clock: base.clock });
  const client = connect(app, backend);
  /** Takes the job that is ready, and returns what runs it. */
  async function taken(): Promise<() => Promise<unknown>> {
    const [lease] = await backend.fetch({ queues: [mail], max: 1, leaseMs: 10 * minute, waitMs: 0 });
    assert.ok(lease, 'expected a job to be given out, got none');
    return () => attempt(app, { client, settler: backend }, createRun(lease));
  }
  return {
    client,
    does,
    after,
    taken,
    run: async () => (await taken())(),
    key,
    batch: { id: `orders-${which}`, job: does },
  };
}

function stepsOfJobs(declare: Declare): void {
  const needs = ['waiting jobs', 'steps', 'batches'] as const;
  const step = (name: string, prepare: (it: ReturnType<typeof jobsOn>) => Promise<Step>): void =>
    declare(name, (t, which) => prepare(jobsOn(t, which)), { needs });

  step('an event', async ({ client, does, run, key }) => {
    const { id } = await client.enqueue(does, 'waits for an event');
    await run();
    return { act: () => client.emit('packed', 1, { key }), id };
  });
  step('a link of a chain that is done', async ({ client, does, after, taken }) => {
    const { ids } = await client.chain([does, after], 'ends');
    return { act: await taken(), id: ids[1] as string };
  });
  step('the last child of a batch', async ({ client, taken, after, batch }) => {
    await client.batch('orders', ['ends'], { ...batch, onComplete: after });
    return { act: await taken() };
  });
  step('cancelling the last child of a batch', async ({ client, after, batch }) => {
    await client.batch('orders', ['ends'], { ...batch, onComplete: after, options: { delayMs: hour } });
    return { act: () => client.batches.cancel(batch.id) };
  });
  step('the end of a batch that a job waits for', async ({ client, does, run, batch }) => {
    await client.batch('orders', ['ends'], { ...batch, options: { delayMs: hour } });
    const { id } = await client.enqueue(does, 'waits for a batch');
    await run();
    return { act: () => client.batches.cancel(batch.id), id };
  });
}
