/** Batches on the command line: how far they are, a cancel, and a retry of what has failed. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type App, connect, type Job, startWorker } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { cli, imports, json, project } from './kit.ts';

const config = `${imports}
export const state = { isDown: true };
export const row = defineJob({
  name: 'row',
  payload: z.object({ row: z.number() }),
  maxRetries: 0,
  async handle({ row }) {
    if (state.isDown && row < 3) throw new Error('down');
  },
});
export const app = createApp({ jobs: [row] });
export const backend = () => sqlite(import.meta.dirname + '/jobs.db');
`;

interface Config {
  readonly app: App;
  readonly row: Job<{ row: number }>;
  readonly state: { isDown: boolean };
}

async function shop() {
  const cwd = project({ 'longshore.config.ts': config });
  const { app, row, state } = (await import(pathToFileURL(join(cwd, 'longshore.config.ts')).href)) as Config;
  const items = Array.from({ length: 1_200 }, (_, n) => ({ row: n }));
  const backend = () => sqlite(join(cwd, 'jobs.db'));
  const client = connect(app, backend());
  await client.batch('orders of today', items, { job: row, id: 'orders', chunkSize: 1_000 });
  await client.close();
  const work = async () => {
    const own = backend();
    await startWorker(app, { backend: own, untilIdle: true }).done;
    await own.close();
  };
  return { cwd, work, state };
}

describe('batches', () => {
  it('are listed and shown', async () => {
    const { cwd, work } = await shop();
    const { code, stdout } = await cli(cwd, ['batches']);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'state    done  children  failed  left  id      name',
        'running   0 %     1,200       0        orders  orders of today',
        '',
        '1 batch.',
        '',
      ].join('\n'),
    );
    await work();
    const { data } = await json(cwd, ['batches', 'show', 'orders']);
    expect(data).toMatchObject({
      state: 'complete',
      outcome: 'failed',
      succeeded: 1_197,
      failed: 3,
      percent: 100,
    });
    const shown = await cli(cwd, ['batches', 'show', 'orders']);
    expect(shown.stdout).toContain('children   1,200 sent: 1,197 succeeded, 3 failed\n');
    const failed = await cli(cwd, ['batches', 'children', 'orders', '--state', 'failed', '--max', '2']);
    expect(failed.stdout).toBe(
      [
        'child  state   runs  id              error',
        '    0  failed     1  batch.orders.0  HANDLER: down',
        '    1  failed     1  batch.orders.1  HANDLER: down',
        '',
        'There are more: --after 2',
        '',
      ].join('\n'),
    );
    const none = await cli(cwd, ['batches', 'show', 'none']);
    expect(none).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^NOT_FOUND: There is no batch "none"/),
    });
    expect((await json(cwd, ['batches', '--after', 'orders'])).data).toEqual({ batches: [], next: null });
  });

  it('are retried where they have failed, and the audit log says so', async () => {
    const { cwd, work, state } = await shop();
    await work();
    state.isDown = false;
    expect(await cli(cwd, ['batches', 'retry', 'orders'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^CONFIRM: .*Add --yes/),
    });
    const done = await cli(cwd, ['batches', 'retry', 'orders', '--yes']);
    expect(done).toMatchObject({ code: 0, stdout: 'orders  3 children run again.\n' });
    await work();
    const { data } = await json(cwd, ['batches', 'show', 'orders']);
    expect(data).toMatchObject({ succeeded: 1_200, failed: 0, perSecond: null });
    const { entries } = (await json(cwd, ['audit'])).data as { entries: Record<string, unknown>[] };
    expect(entries[0]).toMatchObject({ action: 'batch.retry', target: 'orders', phase: 'done', count: 3 });
  });

  it('are cancelled', async () => {
    const { cwd } = await shop();
    const done = await cli(cwd, ['batches', 'cancel', 'orders', '--yes']);
    expect(done).toMatchObject({
      code: 0,
      stdout: 'orders  Cancelled: children that wait never run, and those that run are aborted.\n',
    });
    expect((await json(cwd, ['batches', 'show', 'orders'])).data).toMatchObject({
      state: 'cancelled',
      failed: 1_200,
    });
    const again = await cli(cwd, ['batches', 'cancel', 'orders', '--yes']);
    expect(again).toMatchObject({
      code: 0,
      stdout: 'orders  All children of this batch have ended, so it cannot be cancelled.\n',
    });
    expect(await cli(cwd, ['batches', 'cancel', 'none', '--yes'])).toMatchObject({ code: 3 });
  });
});
