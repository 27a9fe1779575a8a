/** The dashboard that `longshore dev` prints a link to: beside a worker that is killed, restarted, or alone with its queue. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../kit/until.ts';
import { json, project, root } from '../cli/kit.ts';
import { faultConfig, isAlive } from './kit.ts';

const configFile = 'longshore.config.ts';
const entry = join(root, 'local/cli/main.ts');

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
type Body = any;

function dev(flags: readonly string[], { config = faultConfig, env = {} } = {}) {
  const cwd = project({ [configFile]: config });
  const argv = [entry, 'dev', '--no-schedules', '--log', 'none', '--lease', '1500ms', ...flags];
  const child: ChildProcess = spawn(process.execPath, argv, {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const found = (pattern: RegExp) => until(() => pattern.exec(said));
  return { cwd, child, ended, said: () => said, found };
}

/** Follows the link that was printed, as the page does. */
async function entered({ found }: Pick<ReturnType<typeof dev>, 'found'>) {
  const [, origin = '', link = ''] = await found(/^(http:\/\/127\.0\.0\.1:\d+)(\/\?token=\S+)$/m);
  const { headers } = await fetch(origin + link, { redirect: 'manual' });
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
  const get = async (path: string): Promise<Body> => {
    const response = await fetch(`${origin}/api/${path}`, { headers: { cookie } });
    return response.ok ? response.json() : null;
  };
  const token = async (): Promise<string> => (await get('session')).token;
  return {
    origin,
    get,
    /** As long as nobody serves it, `null`. */
    tryGet: (path: string) => get(path).catch(() => null),
    async post(path: string, body: object = {}): Promise<{ status: number; body: Body }> {
      const json = { 'content-type': 'application/json', 'x-longshore-token': await token() };
      const response = await fetch(`${origin}/api/${path}`, {
        method: 'POST',
        headers: { ...json, cookie, origin, 'sec-fetch-site': 'same-origin' },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: await response.json() };
    },
  };
}

const enqueueWaiting = (cwd: string) => json(cwd, ['enqueue', 'wait', '{"file":"go"}']);

describe('the dashboard of `longshore dev`', () => {
  it('kills the worker while it runs a job: another one runs it again, and the page stays', async () => {
    const one = dev(['--port', '0']);
    const page = await entered(one);
    await enqueueWaiting(one.cwd);
    const { faults } = await page.get('session');
    expect(faults.map(({ name }: Body) => name)).toContain('freeze');
    const job = await until(async () => {
      const { jobs } = await page.get('jobs?status=processing');
      return jobs[0] ?? null;
    });
    const caused = await page.post('faults/kill');
    expect(caused).toMatchObject({
      status: 200,
      body: { message: expect.stringMatching(/is killed while/) },
    });
    appendFileSync(join(one.cwd, 'go'), '');
    const shown = await until(async () => {
      const found = await page.get(`jobs/${job.id}`);
      return found.record.status === 'completed' ? found : null;
    });
    expect(shown.record.attempts).toMatchObject([{ outcome: 'interrupted' }, { outcome: 'acked' }]);
    expect(one.said()).not.toMatch(/Save a file/);
    one.child.kill('SIGINT');
    expect(await one.ended).toBe(0);
  });

  it('comes again at its port when a file is saved, with the new code and the old session', async () => {
    const one = dev(['--port', '0']);
    const page = await entered(one);
    const path = join(one.cwd, configFile);
    const saved = readFileSync(path, 'utf8').replace(
      'jobs: [wait,',
      "jobs: [defineJob({ name: 'later', payload: z.object({}), async handle() {} }), wait,",
    );
    writeFileSync(path, 'no config at all');
    await one.found(/Save a file to run it again/);
    expect(await page.get('session')).toMatchObject({ role: 'operator' }); // the old one goes on
    writeFileSync(path, saved);
    await until(async () => (await page.tryGet('session'))?.app.jobs.includes('later'));
    expect(await page.post('faults/fail-next')).toMatchObject({
      status: 200,
      body: { message: expect.any(String) },
    });
    expect(one.said().match(/token=/g)).toHaveLength(1);
  });

  it('leaves no process behind when `dev` is killed while a worker stands still', async () => {
    const one = dev(['--port', '0']);
    const page = await entered(one);
    await enqueueWaiting(one.cwd);
    await until(async () => (await page.get('jobs?status=processing')).jobs.length > 0);
    expect(await page.post('faults/freeze')).toMatchObject({ status: 200 });
    const begun = await until(() => {
      const events = readFileSync(join(one.cwd, 'events'), 'utf8').trim().split('\n');
      const starts = events.map((line) => JSON.parse(line)).filter(({ type }) => type === 'job.started');
      return starts.length > 1 && starts;
    });
    expect(begun[0].pid).not.toBe(begun[1].pid);
    one.child.kill('SIGKILL');
    for (const { pid } of begun) await until(() => !isAlive(pid));
    await expect(page.get('session')).rejects.toThrow('fetch failed');
  });

  it('is served by the worker where its queue is in memory, with the faults that work there', async () => {
    const config = faultConfig.replace(/export const backend = .*/, 'export const backend = () => memory();');
    const page = await entered(dev(['--port', '0'], { config }));
    const names = (await page.get('session')).faults.map(({ name }: Body) => name);
    expect(names).toContain('fail-next');
    expect(names).not.toContain('kill');
    expect(await page.post('faults/fail-next')).toMatchObject({
      body: { message: expect.stringMatching(/^The next attempt fails/) },
    });
    expect((await page.post('faults/kill')).status).toBe(404);
  });

  it('moves the time of worker and page by an hour', async () => {
    const page = await entered(dev(['--port', '0']));
    const before = (await page.get('live')).at;
    expect(await page.post('faults/skip-hour')).toMatchObject({
      status: 200,
      body: { message: expect.any(String) },
    });
    expect((await page.get('live')).at - before).toBeGreaterThanOrEqual(3_600_000);
  });

  it('has no faults in production', async () => {
    const page = await entered(dev(['--port', '0'], { env: { NODE_ENV: 'production' } }));
    expect((await page.get('session')).faults).toEqual([]);
    expect((await page.post('faults/kill')).status).toBe(404);
  });

  it('takes the next port when the usual one is taken, and says so of one that was asked for', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const one = dev(['--port', String(port)]);
    await one.found(/Could not listen on .*EADDRINUSE(.|\n)*The worker continues without a dashboard/);
    expect(one.child.exitCode).toBeNull();
    const [page, other] = [await entered(dev([])), await entered(dev([]))];
    expect(page.origin).not.toBe(other.origin);
  });

  it('is not there with --no-dashboard', async () => {
    const one = dev(['--no-dashboard']);
    await until(() => {
      try {
        return readFileSync(join(one.cwd, 'events'), 'utf8').includes('worker.started');
      } catch {
        return false;
      }
    });
    one.child.kill('SIGTERM');
    expect(await one.ended).toBe(0);
    expect(one.said()).not.toMatch(/http/);
  });
});
