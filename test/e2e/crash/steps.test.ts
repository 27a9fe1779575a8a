/** Workers that are killed at every boundary of a job with steps: each step is remembered, or it runs again. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { nameOfJob } from '../../../core/features/steps/stored.ts';
import { connect, startWorker } from '../../../core/index.ts';
import { freshDatabase } from '../../services/postgres/schemas.ts';
import { startRedis } from '../../services/redis/server.ts';
import type { BackendName } from './backends.ts';
import { openStepEffects, openWatched, stepApp } from './steps-app.ts';

/** Long enough for a worker on a busy machine to renew it. */
const leaseMs = 4_000;
/** Processes at a time. */
const crowd = 6;

const script = join(import.meta.dirname, 'steps-worker.ts');

const sites: readonly [
  BackendName,
  (folder: string) => Promise<{ address: string; clear(): Promise<void> }>,
][] = [
  ['sqlite', async (folder) => ({ address: join(folder, 'jobs.db'), clear: async () => {} })],
  [
    'postgres',
    async () => {
      const database = await freshDatabase();
      return { address: database.url, clear: async () => database.drop() };
    },
  ],
  [
    'redis',
    async () => {
      const server = await startRedis({ appendOnly: true });
      return { address: server.url, clear: async () => server.remove() };
    },
  ],
];

describe.each(sites)('workers on %s that are killed between the steps of a job', (name, open) => {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-steps-'));
  let clear = async (): Promise<void> => {};
  afterAll(async () => {
    await clear();
    rmSync(folder, { recursive: true, force: true });
  });

  it('forget no step that was done, and do no other one twice than that in which they died', {
    timeout: 300_000,
  }, async () => {
    const site = await open(folder);
    clear = site.clear;
    const effectsPath = join(folder, 'effects.db');
    const effects = openStepEffects(effectsPath);
    const happenings: string[] = [];
    const happened = (what: string) => void happenings.push(what);
    const opened = await openWatched(name, site.address, happened);
    const { app, job } = stepApp(effects, happened);
    const client = connect(app, opened.backend, { store: opened.store });
    const enqueue = async (queue: string) => (await client.enqueue(job, null, { queue })).id;
    await client.emit('go', 'kept', { keepMs: 3_600_000 });

    /** Runs what is in these queues to its end. */
    async function finish(queues: readonly string[], ids: readonly string[]): Promise<unknown[]> {
      // It dies nowhere, so it needs no short lease, which a busy machine may be too slow for.
      const worker = startWorker(app, { ...opened, queues, concurrency: 2, leaseMs: 60_000 });
      const outputs = ids.map((id) => client.result(job, id, { timeoutMs: 120_000 }));
      const found = await Promise.all(outputs).finally(() => worker.stop());
      return found;
    }

    // Once without a crash: it says what there is to crash after.
    happenings.length = 0;
    const whole = await enqueue('whole');
    const output = ['one', 'two', 'kept', 'three'];
    expect(await finish(['whole'], [whole])).toEqual([output]);
    const all = [...happenings];
    expect(all).toEqual([
      ...['read', 'write', 'effect one', 'write', 'effect two', 'write', 'write', 'nack'],
      ...['read', 'write', 'write', 'read', 'write', 'effect three', 'write', 'ack', 'remove'],
    ]);

    const cases = await Promise.all(
      all.map(async (what, i) => ({ what, n: i + 1, queue: `q${i + 1}`, id: await enqueue(`q${i + 1}`) })),
    );
    for (let from = 0; from < cases.length; from += crowd) {
      const ends = cases.slice(from, from + crowd).map(async ({ n, queue, what }) => {
        const args = [script, name, site.address, effectsPath, queue, `${n}`, `${leaseMs}`, 'SIGKILL'];
        const worker = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
        const [, signal] = await once(worker, 'exit');
        return `${n} ${what}: ${signal}`;
      });
      const expected = cases.slice(from, from + crowd).map(({ n, what }) => `${n} ${what}: SIGKILL`);
      expect(await Promise.all(ends)).toEqual(expected);
    }
    const outputs = await finish(
      cases.map(({ queue }) => queue),
      cases.map(({ id }) => id),
    );
    for (const [i, { what, queue, id, n }] of cases.entries()) {
      // A job that was acked before the crash has its output too.
      expect([n, outputs[i]]).toEqual([n, output]);
      const rows = effects.prepare('SELECT step, key FROM effects WHERE queue = ? ORDER BY rowid').all(queue);
      const twice = what.startsWith('effect ') ? [what.slice('effect '.length)] : [];
      const steps = ['one', 'two', 'three'].flatMap((step) => (twice.includes(step) ? [step, step] : [step]));
      expect([n, ...rows]).toEqual([n, ...steps.map((step) => ({ step, key: `${id}:${step}` }))]);
      // Only a worker that dies between the ack and the end of it leaves something behind.
      const left = await client.stores.steps!.read(nameOfJob(id));
      expect([n, left !== null]).toEqual([n, what === 'ack']);
    }

    // One that stands still behind an effect until another worker has finished the job.
    const id = await enqueue('q20');
    const n = all.indexOf('effect two') + 1;
    const args = [script, name, site.address, effectsPath, 'q20', `${n}`, `${leaseMs}`, 'SIGSTOP'];
    const frozen = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const done = effects.prepare(`SELECT count(*) AS n FROM effects WHERE queue = 'q20'`);
      await expect.poll(() => done.get()).toEqual({ n: 2 });
      expect(await finish(['q20'], [id])).toEqual([output]);
      const told = once(frozen.stdout, 'data');
      frozen.kill('SIGCONT');
      expect(String((await told)[0])).toBe('settled: false\n');
      const steps = effects.prepare(`SELECT step FROM effects WHERE queue = 'q20' ORDER BY rowid`).all();
      expect(steps.map(({ step }) => step)).toEqual(['one', 'two', 'two', 'three']);
      expect(await client.stores.steps!.read(nameOfJob(id))).toBeNull();
    } finally {
      frozen.kill('SIGKILL');
    }
    await client.close();
    effects.close();
  });
});
