/** `longshore work --metrics-port`: the real program, read while it works. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, project, root, secret, shopConfig } from './kit.ts';
import { projects } from './spawned.ts';

const makeProject = projects();
const key = 'monitoring.0123456789abcdef0123456789';

interface Started {
  /** What it has written to stderr, once that matches or it has ended. */
  until(pattern: RegExp): Promise<string>;
  readonly ended: Promise<number | null>;
  stop(): Promise<number | null>;
}

function start(
  cwd: string,
  line: string,
  env: NodeJS.ProcessEnv = {},
  nodeArgs: readonly string[] = [],
): Started {
  const args = [...nodeArgs, join(root, 'local/cli/main.ts'), ...line.split(' ')];
  const own = { LONGSHORE_SIGNING_KEYS: `first:${secret}`, NO_COLOR: '1', ...env };
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...own } });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  let said = '';
  child.stdout.resume();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  return {
    ended,
    async until(pattern) {
      while (!pattern.test(said) && child.exitCode === null)
        await Promise.race([once(child.stderr, 'data'), ended]);
      return said;
    },
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

describe('work --metrics-port', () => {
  it('says where the numbers are, and serves them until it stops', async () => {
    const cwd = makeProject({ 'longshore.config.ts': shopConfig });
    const worker = start(cwd, 'work --no-schedules --metrics-port 0');
    const [, url] = /^Metrics are at (http:\/\/127\.0\.0\.1:\d+\/metrics)$/m.exec(
      await worker.until(/\/metrics\n/),
    )!;
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    const read = async () => (await fetch(url!)).text();
    await expect
      .poll(read)
      .toContain('queue_jobs_processed_total{queue="default",job="greet",outcome="acked"} 1\n');
    expect(await read()).toContain('queue_up{backend="sqlite"} 1\n');
    expect(await worker.stop()).toBe(0);
    await expect(fetch(url!)).rejects.toThrow();
  });

  it('asks others for the key of the environment', async () => {
    const cwd = makeProject({ 'longshore.config.ts': shopConfig });
    const line = 'work --no-schedules --metrics-port 0 --metrics-host 0.0.0.0';
    const worker = start(cwd, line, { LONGSHORE_METRICS_KEY: key });
    const [, port] = /:(\d+)\/metrics\n/.exec(await worker.until(/\/metrics\n/))!;
    const url = `http://127.0.0.1:${port}/metrics`;
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    expect(await worker.stop()).toBe(0);
  });

  it('refuses a key that is too short, without printing it', async () => {
    const env = { LONGSHORE_SIGNING_KEYS: `first:${secret}`, LONGSHORE_METRICS_KEY: 'too-short-to-be-a-key' };
    const { code, stderr } = await cli(project(), ['work', '--metrics-port', '0'], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /CONFIG: Expected API key "metrics" to have at least 32 characters.*got 21 characters/,
    );
    expect(stderr).not.toContain('too-short');
  });

  it('says what to install where prom-client is missing, and needs it only then', async () => {
    const cwd = makeProject({ 'longshore.config.ts': shopConfig });
    const missing = `import { registerHooks } from 'node:module';
      registerHooks({ resolve: (name, context, next) =>
        next(name === 'prom-client' ? 'prom-client-that-is-not-there' : name, context) });`;
    const without = ['--import', `data:text/javascript,${encodeURIComponent(missing)}`];
    const wanting = start(cwd, 'work --once --metrics-port 0', {}, without);
    expect(await wanting.until(/\n/)).toContain(
      'CONFIG: The package prom-client is not installed. Run npm install prom-client.',
    );
    expect(await wanting.ended).toBe(1);
    const plain = start(cwd, 'work --once --no-schedules', {}, without);
    expect(await plain.ended, 'no job was ready').toBe(3);
    expect(await plain.until(/./)).toBe('');
  });
});
