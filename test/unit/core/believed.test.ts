/** A queue beside its store: a process dies before the end of its job is written, and nobody who waits for that end waits for ever. */

import { expect, it } from 'vitest';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { createApp } from '../../../core/features/table.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { job, ring, startMs } from './kit.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

function beside() {
  const clock = createVirtualClock(startMs);
  const work = job({ timeoutMs: minuteMs });
  const schedules = [
    defineSchedule({ name: 'often', everyMs: 10 * minuteMs, job: work, payload: {}, overlap: 'skip' }),
  ];
  let ids = 0;
  const app = createApp({ jobs: [work], schedules, signing: ring, clock, newId: () => `id-${++ids}` });
  const { stores: _, ...backend } = memory({ clock });
  const store = memoryStore({ clock });
  const client = connect(app, backend, { store });
  const { writer } = store.records;
  const { settled } = writer!;
  return {
    ...{ app, clock, client, work },
    /** Runs what is ready, in a process that dies before it can record the end. */
    async runUnheard() {
      const dying = { ...app, clock: { ...clock, after: () => () => {} } };
      Object.assign(writer!, { settled: () => Promise.reject(new Error('throttled')) });
      const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: minuteMs, waitMs: 0 });
      await attempt(
        dying,
        { client: connect(dying, backend, { store }), settler: backend },
        createRun(lease!),
      );
      Object.assign(writer!, { settled });
    },
  };
}

/** The attempt may take a minute, and its message an hour to come back. */
const stillMs = minuteMs + hourMs - 1;

it('a schedule with overlap: skip goes on', async () => {
  const { app, clock, client, runUnheard } = beside();
  await tick(app, client);
  clock.advance(10 * minuteMs);
  expect(await tick(app, client)).toHaveLength(1);
  await runUnheard();
  for (let i = 0; i < 6; i++) {
    clock.advance(10 * minuteMs);
    expect(await tick(app, client)).toEqual([]);
  }
  clock.advance(10 * minuteMs);
  expect(await tick(app, client)).toHaveLength(1);
});

it('whoever waits for the result hears that nothing is known', async () => {
  const { clock, client, work, runUnheard } = beside();
  const { id } = await client.enqueue(work, {});
  await runUnheard();
  clock.advance(stillMs);
  await expect(client.result(work, id, { timeoutMs: 0 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  clock.advance(1);
  await expect(client.result(work, id, { timeoutMs: hourMs })).rejects.toMatchObject({
    code: 'HANDLER',
    message: expect.stringContaining('How it ended is not known.'),
  });
});

it('a chain whose last link is unheard of has failed', async () => {
  const { clock, client, work, runUnheard } = beside();
  const { id } = await client.chain([work, work] as never, {} as never);
  await runUnheard();
  expect((await client.chains.get(id))?.state).toBe('running');
  await runUnheard();
  clock.advance(stillMs);
  expect((await client.chains.get(id))?.state).toBe('running');
  clock.advance(1);
  expect((await client.chains.get(id))?.state).toBe('failed');
});

it('a unique key is free', async () => {
  const { clock, client, work, runUnheard } = beside();
  const unique = { key: 'k', during: 'either' } as const;
  const { id } = await client.enqueue(work, {}, { unique });
  await runUnheard();
  clock.advance(stillMs);
  expect((await client.enqueue(work, {}, { unique })).id).toBe(id);
  clock.advance(1);
  expect((await client.enqueue(work, {}, { unique })).id).not.toBe(id);
});

it.each([false, true])(
  'a batch ends whose child began and was never heard of; cancelled: %s',
  async (isCancelled) => {
    const { clock, client, work } = beside();
    const { id } = await client.batch('rows', [1], { id: 'a', job: work } as never);
    const { queue, createdAt, priority, tenantId } = (await client.status('batch.a.0'))!;
    // The broker itself has made it a dead letter.
    await client.stores.records.writer!.started(
      { id: 'batch.a.0', queue, job: 'work', tenantId, priority, createdAt, runAt: createdAt },
      { owner: 'dead', attempt: 1, at: clock.now() },
    );
    if (isCancelled) await client.batches.cancel(id);
    clock.advance(stillMs);
    await lookAtBatches(client);
    expect((await client.batches.get(id))?.completedAt).toBeNull();
    clock.advance(2 * minuteMs);
    await lookAtBatches(client);
    expect((await client.batches.get(id))?.completedAt).not.toBeNull();
  },
);
