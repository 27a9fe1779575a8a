/** A handler that does not end is ended, whatever it does, while its worker goes on as if nothing had happened. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { knownPaused, refreshed } from '../../../core/features/limits/paused-jobs.ts';
import { endIsolates, poolOf } from '../../../core/features/sandbox/host.ts';
import { until } from '../../kit/until.ts';
import { bench as virtualBench } from '../core/kit.ts';
import * as jobs from './jobs.ts';
import { alive, createBench } from './kit.ts';

const all = Object.values(jobs);

function bench(options: Parameters<typeof createBench>[1] = {}) {
  const t = createBench(all, { concurrency: 4, ...options });
  onTestFinished(async () => void (await t.worker.stop()));
  return t;
}

/** What handlers have logged, when there is so much of it. */
const said = ({ eventsOf }: ReturnType<typeof bench>, count: number) =>
  until(() => (eventsOf('job.log').length >= count ? eventsOf('job.log') : null));

const threads = { job: jobs.inThread, held: jobs.heldThread, small: jobs.smallThread };
const processes = { job: jobs.inProcess, held: jobs.heldProcess, small: jobs.smallProcess };

describe.each([
  ['thread', threads],
  ['process', processes],
] as const)('a handler in a %s', (kind, { job, held, small }) => {
  it('that blocks is stopped at its timeout, and retried', async () => {
    const t = bench();
    const blocked = t.run(held, { act: 'sayAndBlock' });
    await said(t, 1);
    const [first] = t.isolates();
    for (let n = 0; n < 5; n++) expect((await t.run(jobs.plain, { n })).output).toBe(n + 1);
    t.timeOut();
    await said(t, 2);
    t.timeOut();
    const record = await blocked;
    expect(record).toMatchObject({ status: 'failed', reason: 'exhausted' });
    expect(record.attempts).toMatchObject([
      { attempt: 1, outcome: 'requeued', error: { code: 'TIMEOUT' } },
      { attempt: 2, outcome: 'dead-lettered', error: { code: 'TIMEOUT' } },
    ]);
    await first!.gone;
    await until(() => t.isolates().length === 0);
  });

  it('that blocks keeps its lease', async () => {
    const t = bench();
    const { id } = await t.client.enqueue(job, { act: 'sayAndBlock' });
    await said(t, 1);
    await until(() => t.renewals() >= 3);
    expect(await t.client.cancel(id)).toBe('cancelling');
    await until(async () => (await t.client.status(id))?.status === 'cancelled');
    expect(t.eventsOf('worker.reaped'), 'no lease was lost').toEqual([]);
  });

  it('that never ends is stopped at its timeout', async () => {
    const t = bench();
    const running = t.run(held, { act: 'never' }, { maxRetries: 0 });
    await said(t, 1);
    t.timeOut();
    const record = await running;
    expect(record.attempts).toMatchObject([{ outcome: 'dead-lettered', error: { code: 'TIMEOUT' } }]);
    await until(() => t.isolates().length === 0);
  });

  it('is told by its signal first, and kept when it listens', async () => {
    const t = bench();
    const running = t.run(held, { act: 'abortReason' }, { maxRetries: 0 });
    await said(t, 1);
    t.timeOut();
    const record = await running;
    expect(record.attempts).toMatchObject([{ error: { code: 'TIMEOUT' } }]);
    const [isolate] = t.isolates();
    const [, aborted] = await said(t, 2);
    expect(aborted!.fields).toEqual({ name: 'LongshoreError', code: 'TIMEOUT' });
    await until(() => t.idle().length === 1);
    await t.run(job, { act: 'nothing' });
    expect(t.isolates(), 'the one that had listened served again').toEqual([isolate]);
  });

  it.each(['block', 'polite'])('that would "%s" is stopped when its job is cancelled', async (act) => {
    const t = bench();
    await t.run(job, { act: 'nothing' }); // one that is still starting does not listen yet, and is ended when it takes too long
    await until(() => t.idle().length === 1);
    const [isolate] = t.idle();
    const { id } = await t.client.enqueue(job, { act });
    await until(() => t.idle().length === 0);
    expect(await t.client.cancel(id)).toBe('cancelling');
    await until(async () => (await t.client.status(id))?.status === 'cancelled');
    if (act === 'block') await isolate!.gone;
    else await until(() => t.idle().includes(isolate!));
    expect((await t.run(jobs.plain, { n: 1 })).output).toBe(2);
  });

  it('is released by a drain, spends no attempt and leaves nothing behind', async () => {
    const t = bench();
    const { id } = await t.client.enqueue(job, { act: 'block' });
    const { output } = await t.run(job, { act: 'where' });
    await until(() => t.isolates().length === 2);
    const pids = t.isolates().map(({ pid }) => pid);
    expect(await t.worker.stop()).toMatchObject({ released: 1, counts: { requeued: 1, acked: 1 } });
    expect(await t.client.status(id)).toMatchObject({ status: 'pending', attempts: [] });
    expect(t.isolates()).toEqual([]);
    expect(pids).toContain((output as { pid: number }).pid);
    if (kind === 'process') expect(pids.filter(alive)).toEqual([]);
  });

  it('may end its work after a drain has told it to', async () => {
    const t = bench({ drainMs: 0 });
    const { id } = await t.client.enqueue(job, { act: 'late' });
    await until(() => t.eventsOf('job.log').length === 1);
    expect(await t.worker.stop()).toMatchObject({ released: 0, counts: { acked: 1 } });
    expect(await t.client.status(id)).toMatchObject({ status: 'completed', output: 'late' });
  });

  it('that needs too much memory fails alone', async () => {
    const t = bench();
    const record = await t.run(small, { act: 'bomb' });
    expect(record.attempts).toMatchObject([{ outcome: 'dead-lettered', error: { code: 'HANDLER' } }]);
    const cap = new RegExp(
      `^HANDLER: The handler's ${kind} needed more memory than maxMemoryMb, 64 MiB: it `,
    );
    expect(record.error).toMatch(cap);
    expect(await t.run(small, { act: 'quick', n: 2 })).toMatchObject({ output: 4 });
  });

  it('that leaves half of its memory full gets no successor', async () => {
    const t = bench();
    expect(await t.run(small, { act: 'heavy' })).toMatchObject({ status: 'completed' });
    await until(() => t.isolates().length === 0);
  });
});

describe('a process', () => {
  it('takes along what it has started', async () => {
    const t = bench();
    const { id } = await t.client.enqueue(jobs.heldProcess, { act: 'grandchild' }, { maxRetries: 0 });
    const [log] = await said(t, 1);
    const { pid, child } = log!.fields as { pid: number; child: number };
    expect([alive(pid), alive(child)]).toEqual([true, true]);
    t.timeOut();
    await until(async () => (await t.client.status(id))?.status === 'failed');
    await until(() => !alive(pid) && !alive(child));
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('leaves %s to its worker', async (signal) => {
    const t = bench();
    const { output } = await t.run(jobs.inProcess, { act: 'where' });
    process.kill((output as { pid: number }).pid, signal);
    expect(await t.run(jobs.inProcess, { act: 'where' })).toMatchObject({ output: { count: 2 } });
  });

  it('says what it knows when somebody else kills it', async () => {
    const t = bench();
    const running = t.run(jobs.inProcess, { act: 'block' });
    const [isolate] = await until(() => (t.isolates().length === 1 ? t.isolates() : null));
    process.kill(isolate!.pid, 'SIGKILL');
    expect((await running).error).toMatch(/^HANDLER: The handler's process ended with signal SIGKILL, which/);
  });

  it('does not outlive a worker that is killed, even when it is blocked', async () => {
    const program = join(import.meta.dirname, 'program.ts');
    const child = execFile(process.execPath, ['--disable-warning=ExperimentalWarning', program]);
    let printed = '';
    child.stdout!.on('data', (text) => {
      printed += text;
    });
    const pids = await until(() =>
      printed.trim().split('\n').length === 2 ? printed.trim().split('\n').map(Number) : null,
    );
    expect(pids.every(alive)).toBe(true);
    child.kill('SIGKILL');
    await until(() => !pids.some(alive));
  });
});

describe.each([
  ['thread', jobs.inThread],
  ['process', jobs.inProcess],
] as const)('a %s that is ready when its lease is over', (_, job) => {
  it('does not begin the handler, and takes the next job', async () => {
    const b = virtualBench({ jobs: all });
    onTestFinished(() => endIsolates(b.app));
    // Else the attempt would first wait to hear which jobs are paused.
    await refreshed(b.client, knownPaused(b.client)!, b.clock.now());
    await b.client.enqueue(job, { act: 'ask', n: 1 }, { maxRetries: 1 });
    const late = b.run(await b.take(1_000));
    b.clock.advance(1_000); // long before the isolate is there
    expect(await late).toMatchObject({ outcome: 'requeued', settled: false, error: { code: 'LEASE_LOST' } });
    expect(b.kinds()).not.toContain('job.log');
    await until(() => poolOf(b.app).idle().length === 1);

    await b.backend.reapExpired('default');
    expect((await b.next()).outcome).toBe('acked');
    expect(b.kinds()).toContain('job.log');
    expect(poolOf(b.app).all()).toHaveLength(1);
  });
});
