/** Isolates are started once and used again, never more than jobs ran at once, and not kept for ever. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { createPool } from '../../../core/features/sandbox/pool.ts';
import { lastOnly } from '../../../core/features/sandbox/progress.ts';
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

/** The worker's own bound: it does not count on isolates to be modest. */
describe('lastOnly()', () => {
  it('writes progress once at a time, and of what came meanwhile only the last', async () => {
    const calls: { readonly n: number; readonly end: (answer: boolean) => void }[] = [];
    const report = lastOnly((n: number) => new Promise<boolean>((end) => calls.push({ n, end })));
    const first = report(0);
    await new Promise(setImmediate);
    const others = Array.from({ length: 1_000 }, (_, i) => report(i + 1));
    await new Promise(setImmediate);
    expect(calls.map(({ n }) => n)).toEqual([0]);
    calls[0]!.end(true);
    expect(await first).toBe(true);
    await new Promise(setImmediate);
    expect(calls.map(({ n }) => n)).toEqual([0, 1_000]);
    calls[1]!.end(false);
    expect(new Set(await Promise.all(others))).toEqual(new Set([false]));
  });

  it('goes on after a store that failed', async () => {
    const answers = [Promise.reject(new Error('down')), Promise.resolve(true)];
    const report = lastOnly((_: number) => answers.shift()!);
    await expect(report(1)).rejects.toThrow('down');
    expect(await report(2)).toBe(true);
  });
});
