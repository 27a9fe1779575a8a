/** The list of workers: states, totals and what runs. */

import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, project, shopConfig } from './kit.ts';

const now = Date.UTC(2026, 0, 15, 12);
const clock = createVirtualClock(now);
const counts = { acked: 40, requeued: 2, 'dead-lettered': 1, rejected: 0, 'skipped-idempotent': 0 };
const about = { host: 'hafen-1', concurrency: 4, counts, memoryBytes: 60 * 1024 ** 2 };

async function withBeats(
  beats: readonly (Partial<WorkerBeat> & { agoMs: number; old?: true })[],
): Promise<string> {
  const at = `createApp({ clock: { now: () => ${now}, after: () => () => {} },`;
  const cwd = project({ 'longshore.config.ts': shopConfig.replace('createApp({', at) });
  const backend = await sqlite(join(cwd, 'jobs.db'));
  for (const [i, { agoMs, old, ...beat }] of beats.entries()) {
    const startedAt = now - 3_600_000 + i;
    await backend.stores!.workers!.heartbeat({
      ...about,
      ...{ id: `w${i}`, pid: 100 + i, queues: ['mail', 'default'], startedAt, seenAt: now - agoMs },
      ...(!old && { failed: 0, jobs: [] }),
      ...{ running: 0, ...beat },
    });
  }
  await backend.close();
  return cwd;
}

it('shows states, current jobs and totals on 80 columns', async () => {
  const cwd = await withBeats([
    { agoMs: 70_000, running: 3, jobs: [{ id: 'job-0', job: 'lost', startedAt: now - 100_000 }] },
    {
      agoMs: 20_000,
      failed: 2,
      running: 1,
      jobs: [{ id: 'job-1', job: 'mail.send', startedAt: now - 30_000 }],
    },
    {
      agoMs: 2_000,
      running: 2,
      failed: 1,
      jobs: [
        { id: 'job-1', job: 'mail.send', startedAt: now - 1_000 },
        { id: 'job-2', job: 'slow', startedAt: now - 90_000 },
      ],
    },
  ]);
  const { stdout, code } = await cli(cwd, ['workers', '--no-color'], { clock, isTTY: true, columns: 80 });
  expect(code).toBe(0);
  expect(stdout).toBe(`worker       state      running  done  failed  memory      seen  queues
hafen-1:100  gone           3/4    40       0   60 MB  70 s ago  mail, default
hafen-1:101  unhealthy      1/4    40       2   60 MB  20 s ago  mail, default
hafen-1:102  healthy        2/4    40       1   60 MB   2 s ago  mail, default

running for  job        id     worker
       90 s  slow       job-2  hafen-1:102
        1 s  mail.send  job-1  hafen-1:102

3 workers: 1 healthy, 1 unhealthy, 1 gone. 2 of 4 slots busy, 120 done, 3
failed, 60 MB.
`);
});

it('gives the same to programs, also of a worker of an older version', async () => {
  const cwd = await withBeats([{ agoMs: 0, running: 1, old: true }, { agoMs: 61_000 }]);
  const { stdout } = await cli(cwd, ['workers', '--json'], { clock });
  expect(JSON.parse(stdout)).toMatchObject({
    workers: [
      { id: 'w0', state: 'healthy', running: 1 },
      { id: 'w1', state: 'gone' },
    ],
    totals: { healthy: 1, unhealthy: 0, gone: 1, running: 1, concurrency: 4, done: 80, failed: 0 },
  });
  expect((await cli(cwd, ['workers'], { clock })).stdout).toMatch(/hafen-1:100 .* \? /);
});

it('shows which one drains, as long as it is healthy', async () => {
  const cwd = await withBeats([
    { agoMs: 0, draining: true, running: 1 },
    { agoMs: 20_000, draining: true },
  ]);
  const { stdout } = await cli(cwd, ['workers', '--no-color'], { clock });
  expect(stdout).toMatch(/^hafen-1:100 +draining +1\/4 /m);
  expect(stdout).toMatch(/^hafen-1:101 +unhealthy +0\/4 /m);
  const { workers } = JSON.parse((await cli(cwd, ['workers', '--json'], { clock })).stdout);
  expect(workers[0]).toMatchObject({ state: 'healthy', draining: true });
});

it('says that there is none', async () => {
  const { stdout } = await cli(project(), ['workers'], { clock });
  expect(stdout).toBe('No worker was seen within 5 min.\n');
});
