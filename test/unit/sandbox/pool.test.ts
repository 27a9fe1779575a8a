/** Isolates are started once and used again, never more than jobs ran at once, and not kept for ever. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { createPool } from '../../../core/sandbox/pool.ts';
import { until } from '../../kit/until.ts';
import * as jobs from './jobs.ts';
import { alive, createBench } from './kit.ts';

describe.each([
  ['threads', jobs.inThread, jobs.smallThread],
  ['processes', jobs.inProcess, jobs.smallProcess],
] as const)('warm %s', (_, job, capped) => {
  it('run 200 quick jobs, at most as many at once as the worker has slots', async () => {
    const t = createBench([job], { concurrency: 2 });
    const payloads = Array.from({ length: 200 }, (_, n) => ({ act: 'where', n }));
    const sent = await t.client.enqueueMany(job, payloads);
    await until(() => t.eventsOf('job.settled').length === 200);
    const isolates = t.isolates();
    expect(isolates).toHaveLength(2);
    const outputs = await Promise.all(
      sent.map(async ({ id }) => (await t.client.status(id))!.output as { pid: number; count: number }),
    );
    const runs = new Set(isolates.map(({ pid }) => pid));
    expect(new Set(outputs.map(({ pid }) => pid))).toEqual(runs);
    expect(Math.max(...outputs.map(({ count }) => count)), 'the module was not loaded again').toBeGreaterThan(
      10,
    );
    expect((await t.worker.stop()).counts).toMatchObject({ acked: 200 });
    expect(t.isolates()).toEqual([]);
    expect([...runs].filter((pid) => pid !== process.pid && alive(pid))).toEqual([]);
  });

  it('make room for those of another module or cap', async () => {
    const t = createBench([job, capped], { concurrency: 1 });
    onTestFinished(async () => void (await t.worker.stop()));
    await t.run(job, { act: 'quick' });
    const [first] = t.isolates();
    await t.run(capped, { act: 'quick' });
    await first!.gone;
    expect(t.isolates()).toHaveLength(1);
  });

  it('end when nothing has needed them for a while', async () => {
    const pool = createPool({ idleMs: 20 });
    const isolate = pool.take(job.isolation!);
    pool.give(isolate, true);
    expect(pool.take(job.isolation!), 'warm until then').toBe(isolate);
    pool.give(isolate, true);
    await isolate.gone;
    expect(pool.all()).toEqual([]);
  });

  it('are not handed out while they are being stopped', async () => {
    const pool = createPool();
    onTestFinished(() => pool.end());
    const isolate = pool.take(job.isolation!);
    pool.ending(isolate);
    const other = pool.take(job.isolation!);
    expect(other).not.toBe(isolate);
    pool.give(isolate, true); // it had listened; but there is room for one only
    await isolate.gone;
    expect(pool.all()).toEqual([other]);
    pool.give(other, true);
  });
});
