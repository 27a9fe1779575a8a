/** The command line on the example shop in beanstalkd: what it shows, settles and refuses. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { sqliteStore } from '../../../local/backends/sqlite/index.ts';
import { message } from '../sqlite/messages.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

const root = join(import.meta.dirname, '../../..');
let server: BeanstalkdServer;
let folder: string;
beforeAll(async () => {
  server = await startBeanstalkd();
  folder = await mkdtemp(join(tmpdir(), 'longshore-cli-'));
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

/** The store is named by a config of the test's own, so that nothing of the example's is touched. */
async function longshore(line: string, url = server.url) {
  const config = join(folder, 'longshore.config.ts');
  const from = (path: string) => JSON.stringify(join(root, path));
  await writeFile(
    config,
    `import { createApp, defineJob } from ${from('core/index.ts')};
     import { beanstalkd } from ${from('local/backends/beanstalkd/index.ts')};
     import { sqliteStore } from ${from('local/backends/sqlite/index.ts')};
     const payload = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
     export const app = createApp({ jobs: [defineJob({ name: 'letter', queue: 'mail', payload, async handle() {} })] });
     export const backend = () => beanstalkd({ url: process.env.BEANSTALKD_URL, prefix: 'cli-', store: sqliteStore(${JSON.stringify(join(folder, 'state.db'))}) });`,
  );
  const secret = `k:${Buffer.alloc(32, 1).toString('base64')}`;
  const env = { ...process.env, BEANSTALKD_URL: url, LONGSHORE_SIGNING_KEYS: secret, NO_COLOR: '1' };
  const args = ['local/cli/main.ts', ...line.split(' '), '--config', config, '--json'];
  return new Promise<{ code: number; data: never }>((resolve, reject) => {
    execFile(
      process.execPath,
      args,
      { cwd: root, env: { ...env, FORCE_COLOR: undefined } },
      (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : 0;
        const text = stdout || stderr;
        try {
          resolve({ code, data: JSON.parse(text) as never });
        } catch (cause) {
          reject(new Error(`Expected JSON, got ${text}`, { cause }));
        }
      },
    );
  });
}

describe('the command line on beanstalkd', { timeout: 120_000 }, () => {
  it('says that a server which drains is unhealthy, because nothing can be sent', async () => {
    const own = await startBeanstalkd();
    const healthy = await longshore('health --min-workers 0', own.url);
    expect(healthy).toMatchObject({ code: 0, data: { healthy: true } });
    own.signal('SIGUSR1');
    const { code, data } = await longshore('health --min-workers 0', own.url);
    expect(code).toBe(1);
    expect(data).toMatchObject({
      checks: expect.arrayContaining([
        { name: 'send', ok: false, detail: expect.stringContaining('drain mode') },
      ]),
    });
    await own.remove();
  });

  it('shows queues, runs jobs, and lists and retries dead letters of other processes', async () => {
    const backend = beanstalkd({
      url: server.url,
      prefix: 'cli-',
      store: sqliteStore(join(folder, 'state.db')),
    });
    const body = JSON.stringify({ identifier: 'dead-1', job: 'letter' });
    await backend.enqueue([message({ id: 'dead-1', queue: 'mail', body })]);
    const [lease] = await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    await backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no such invoice' });

    expect(await longshore('status')).toMatchObject({
      code: 0,
      data: { backend: 'beanstalkd', queues: [{ queue: 'mail', ready: 0, dead: 1 }] },
    });
    expect(await longshore('dead list')).toMatchObject({
      code: 0,
      data: { deadLetters: [{ id: 'dead-1', reason: 'permanent', error: 'HANDLER: no such invoice' }] },
    });
    expect(await longshore('dead retry dead-1')).toMatchObject({ code: 0 });
    expect(await longshore('pause mail')).toMatchObject({ code: 0 });
    expect(await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 })).toEqual([]);
    expect(await longshore('resume mail')).toMatchObject({ code: 0 });
    expect(await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 })).toMatchObject([
      { attempt: 1, body },
    ]);
    await backend.close();
  });

  it('says in one line that there is no server', async () => {
    const { code, data } = await longshore('status', 'beanstalk://127.0.0.1:1');
    expect(code).toBe(1);
    expect(data).toMatchObject({
      error: { code: 'BACKEND', message: expect.stringMatching(/Check that it runs/) },
    });
  });
});
