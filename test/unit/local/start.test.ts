import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineJob, defineSchedule } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { startLocal } from '../../../local/start.ts';
import { until as untilTrue } from '../../kit/until.ts';
import { bench, job, refusalText } from '../core/kit.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function until(child: ChildProcess, said: () => string, text: string): Promise<void> {
  while (!said().includes(text)) {
    if (child.exitCode !== null) throw new Error(`ended without saying "${text}": ${said()}`);
    await once(child.stdout!, 'data');
  }
}

describe('startLocal', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'drains on %s: what can end ends, the rest is released without an attempt spent, exit code 0',
    { timeout: 120_000 },
    async (signal) => {
      const path = join(folder, `${signal}.db`);
      const script = join(import.meta.dirname, 'program.ts');
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, path]);
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
      await until(child, () => output, 'beat');
      await until(child, () => output, 'nap 60000 begins');
      child.kill(signal);
      const [code] = await once(child, 'exit');
      expect(output).toContain('nap 700 ends');
      expect(JSON.parse(output.slice(output.indexOf('stopped ') + 8))).toMatchObject({
        reason: 'signal',
        counts: { requeued: 1 },
        released: 1,
      });
      expect(code).toBe(0);
      const backend = sqlite(path);
      const [left] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 1_000, waitMs: 0 });
      expect(left).toMatchObject({ attempt: 1, interrupted: false });
      await backend.close();
    },
  );

  it.each([undefined, {}, { backend: 'jobs.db' }])('refuses the options %j', async (options) => {
    const { app } = bench({ jobs: [job()] });
    expect(await refusalText(() => startLocal(app, options as never))).toMatch(
      /^CONFIG: startLocal\(\) expects { backend }, such as sqlite\('jobs.db'\) or postgres\(url\), got /,
    );
  });

  it('refuses an option that there is not, before anything starts', async () => {
    const { app, backend, events } = bench({ jobs: [job()] });
    const options = { backend, logger: false, metric: true } as const;
    expect(await refusalText(() => startLocal(app, options))).toMatch(
      /^CONFIG: Unknown option "metric" of startLocal\(\), only backend, .+, schedules, logger, http, metrics\. Did you mean "metrics"\?$/,
    );
    const several = { backend, logger: false, backendName: ['fast'] } as never;
    expect(await refusalText(() => startLocal(app, several))).toMatch(
      /^CONFIG: Unknown option "backendName" of startLocal\(\), only backend, store, (?!.*failover)/,
    );
    expect(events).toEqual([]);
  });

  it('refuses a job that no payload fits, before anything starts', async () => {
    const payload = z.object({ at: z.date() });
    const { app, backend, events } = bench({ jobs: [defineJob({ name: 'late', payload, handle() {} })] });
    expect(await refusalText(() => startLocal(app, { backend, logger: false }))).toBe(
      'CONFIG: Job "late" can never run: payload.at is z.date(), which JSON cannot carry. Use z.iso.datetime(), or z.coerce.date() where the handler wants a Date, and send date.toISOString().',
    );
    expect(events).toEqual([]);
  });

  it('refuses a schedule with a pattern that is none before anything starts', async () => {
    const work = job();
    const schedules = [defineSchedule({ name: 'late', cron: '0 25 * * *', job: work, payload: {} })];
    const { app, backend, events } = bench({ jobs: [work], schedules });
    const options = { backend, logger: false, signals: [] } as const;
    expect(await refusalText(() => startLocal(app, options))).toMatch(
      /^CONFIG: Schedule "late" expects a cron pattern like "0 2 \* \* \*" .*, got "0 25 \* \* \*" in "UTC": /,
    );
    expect(events).toEqual([]);
    // Where it does not tick it need not know.
    const { stop } = await startLocal(app, { ...options, schedules: false });
    await stop();
    expect(events.map(({ type }) => type)).toContain('worker.stopped');
  });

  it('ticks as soon as a moment has come by the clock of the queue', async () => {
    const work = job();
    const schedules = [defineSchedule({ name: 'minutely', everyMs: 60_000, job: work, payload: {} })];
    const { app, backend, clock, events } = bench({ jobs: [work], schedules });
    Object.assign(backend, { now: async () => clock.now() - 5 }); // this host is ahead of it
    const served = () => events.filter(({ type }) => type === 'schedule.enqueued').length;
    const { stop } = await startLocal(app, { backend, logger: false, signals: [] });
    clock.advance(5);
    await untilTrue(() => served() === 1);
    clock.advance(59_995);
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
    expect(served()).toBe(1);
    clock.advance(5);
    await untilTrue(() => served() === 2);
    await stop();
  });

  it.each(['hangs', 'ends'] as const)('stops with a tick under way that %s', async (how) => {
    const work = job();
    const schedules = [defineSchedule({ name: 'often', everyMs: 1_000, job: work, payload: {} })];
    const { app, backend, clock, events } = bench({ jobs: [work], schedules });
    const { keys } = backend.stores!;
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    let isSlow = false;
    const slow: typeof keys = {
      ...keys,
      async claim(...args) {
        if (isSlow) asked.resolve();
        if (isSlow) await answer.promise;
        return keys.claim(...args);
      },
    };
    const local = await startLocal(app, { backend, store: { keys: slow }, logger: false, signals: [] });
    isSlow = true;
    clock.advance(1_000);
    await asked.promise; // a tick is under way
    const stopped = local.stop();
    await local.worker.done;
    if (how === 'ends') answer.resolve();
    else
      await untilTrue(() => {
        clock.advance(100);
        return hasEnded(stopped);
      });
    await stopped;
    const served = events.filter(({ type }) => type === 'schedule.enqueued');
    expect(served).toHaveLength(how === 'ends' ? 1 : 0);
  });
});

const hasEnded = (work: Promise<unknown>): Promise<unknown> =>
  Promise.race([work.then(() => true), new Promise(setImmediate).then(() => false)]);
