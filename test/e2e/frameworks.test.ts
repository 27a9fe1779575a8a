/** Runs the examples of docs/frameworks.md with the packages that they name and the packed tarball. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../kit/network/free-port.ts';
import { shared } from '../kit/shared/shared.ts';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/frameworks.md'), 'utf8');

/** Installed for this test and not with the repository. */
const packages = [
  ...[
    'zod@4.6.7',
    'srvx@1.0.8',
    'hono@4.13.19',
    '@hono/node-server@2.1.9',
    'express@5.3.0',
    'fastify@5.12.8',
  ],
  ...['@nestjs/common@12.5.1', '@nestjs/core@12.5.1', '@nestjs/platform-express@12.5.1', 'rxjs@7.8.2'],
  'reflect-metadata@0.2.2',
];

const folder = mkdtempSync(join(tmpdir(), 'longshore-frameworks-'));
const env: NodeJS.ProcessEnv = {
  ...process.env,
  NODE_ENV: undefined,
  LONGSHORE_SIGNING_KEYS: undefined,
  npm_config_prefer_offline: 'true',
};

beforeAll(async () => {
  const { tarball } = await shared('release');
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  for (const [, name = '', text = ''] of page.matchAll(/^```js file=(\S+)\n(.*?)^```$/gms))
    writeFileSync(join(folder, name), text);
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps'];
  await execute('npm', [...install, ...packages, tarball], { cwd: folder, env, timeout: 300_000 });
  // Nest finds the services of a class by the types of its constructor, which only the compiler writes down.
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const flags = [
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--strict',
    '--skipLibCheck',
    '--types',
    'node',
  ];
  const decorators = ['--experimentalDecorators', '--emitDecoratorMetadata'];
  const types = ['--typeRoots', join(root, 'node_modules/@types')];
  await execute(process.execPath, [tsc, ...flags, ...decorators, ...types, 'nest.ts'], { cwd: folder });
}, 400_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts an example, and returns its address and how it ends at SIGTERM. */
async function start(file: string) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [file], {
    cwd: folder,
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text));
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal);
  const stop = async (): Promise<unknown> => {
    child.kill('SIGTERM');
    return ended;
  };
  onTestFinished(async () => void (await stop()));
  await expect
    .poll(
      async () => {
        if (child.exitCode !== null) throw new Error(printed);
        return (await fetch(`${url}/api/healthz`).catch(() => null))?.status;
      },
      { timeout: 30_000 },
    )
    .toBe(200);
  return { url, stop };
}

const cookie = 'session=ada';
const enqueue = (url: string, headers: Record<string, string> = { cookie }) =>
  fetch(`${url}/api/jobs/greet`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"name":"Ada"}',
  });

/** The text of the event stream of a job up to its end. */
async function follow(url: string, statusUrl: string): Promise<string> {
  const response = await fetch(`${url}${statusUrl}/events`, { headers: { cookie } });
  return response.text();
}

describe.each([['hono'], ['express'], ['fastify']])('the example of %s', (name) => {
  it('takes jobs, refuses strangers, streams events and shows the dashboard', async () => {
    const { url } = await start(`${name}.mjs`);
    expect((await enqueue(url, {})).status).toBe(401);
    const answer = await enqueue(url);
    expect(answer.status).toBe(202);
    const { statusUrl } = (await answer.json()) as { statusUrl: string };
    const stream = follow(url, statusUrl);
    const work = ['node_modules/.bin/longshore', 'work', '--drain', '--config', 'cli.mjs'];
    writeFileSync(
      join(folder, 'cli.mjs'),
      "export { app } from './jobs.mjs';\nimport { sqlite } from 'longshore/local/sqlite';\nexport const backend = () => sqlite('.longshore/jobs.db');\n",
    );
    await execute(process.execPath, work, { cwd: folder, env, timeout: 60_000 });
    expect(await stream).toContain('"greeted":"Ada"');
    const open = (headers: Record<string, string>) => fetch(`${url}/admin/jobs`, { headers });
    expect((await open({})).status).toBe(401);
    expect(await (await open({ cookie })).text()).toContain('<title>Longshore');
  }, 90_000);
});

describe('the example of NestJS', () => {
  it('runs a job with a service, and stops its worker with the application', async () => {
    const { url, stop } = await start('nest.js');
    expect((await enqueue(url, {})).status).toBe(401);
    const { statusUrl } = (await (await enqueue(url)).json()) as { statusUrl: string };
    expect(await follow(url, statusUrl)).toContain('"greeted":"Ada"');
    expect(await stop()).toMatch(/^(0|SIGTERM)$/);
  }, 90_000);
});
