/** The HTTP API and the dashboard in an application of Next.js, as docs/frameworks.md says: both with and without a slash at the end of addresses. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { shared } from '../../kit/shared/shared.ts';
import { openPage, startBrowser } from './browser.ts';

/** 340 MB with what it needs, so it is installed for this test and not with the repository. */
const packages = ['next@16.4.6', 'react@19.2.7', 'react-dom@19.2.7', 'zod@4.6.7'];

const files: Record<string, string> = {
  'package.json': '{ "private": true }',
  'app/layout.js': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;',
  'app/admin/jobs/[[...path]]/route.js': `
    import { createApp, keyRing } from 'longshore';
    import { dashboard } from 'longshore/dashboard';
    import { sqlite } from 'longshore/local/sqlite';

    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const queues = { mail: {} };
    const handler = dashboard(createApp({ jobs: [], queues, signing }), sqlite('./jobs.db'), {
      basePath: '/admin/jobs',
      authorize: () => ({ actor: 'ada', role: 'operator' }),
    });
    export const GET = handler;
    export const POST = handler;`,
};
const page = readFileSync(join(import.meta.dirname, '../../../docs/frameworks.md'), 'utf8');
const [, route = ''] = /`app\/api\/\[\.\.\.path\]\/route\.ts`:\n\n```js\n(.*?)^```$/ms.exec(page)!;
files['app/api/[...path]/route.js'] = route;
for (const [, name = '', text = ''] of page.matchAll(/^```js file=((?:jobs|longshore)\.mjs)\n(.*?)^```$/gms))
  files[name] = text;

const folder = mkdtempSync(join(tmpdir(), 'longshore-next-'));
const next = join(folder, 'node_modules/next/dist/bin/next');
const env: NodeJS.ProcessEnv = {
  ...process.env,
  NODE_ENV: 'production',
  NEXT_TELEMETRY_DISABLED: '1',
  LONGSHORE_SIGNING_KEYS: undefined,
  npm_config_prefer_offline: 'true',
};
const run = (program: string, args: readonly string[]) =>
  promisify(execFile)(program, args, { cwd: folder, env, timeout: 180_000 });

/** Only the server has it: a build needs no keys. */
const signingKeys = `k:${'A'.repeat(43)}=`;

let browser: Browser;
beforeAll(async () => {
  const { tarball } = await shared('release');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages, tarball]);
  browser = await startBrowser();
}, 400_000);
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startNext(trailingSlash: boolean): Promise<string> {
  writeFileSync(join(folder, 'next.config.mjs'), `export default ${JSON.stringify({ trailingSlash })};`);
  await run(process.execPath, [next, 'build']);
  const server: ChildProcess = spawn(process.execPath, [next, 'start', '-p', '0', '-H', '127.0.0.1'], {
    cwd: folder,
    env: { ...env, LONGSHORE_SIGNING_KEYS: signingKeys },
  });
  onTestFinished(async () => {
    const ended = once(server, 'exit');
    if (server.kill()) await ended;
  });
  let printed = '';
  for (;;) {
    const [text] = await once(server.stdout!, 'data');
    printed += text;
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? [];
    if (url && printed.includes('Ready')) return url;
  }
}

it.each([false, true])(
  'opens, streams and acts, with trailingSlash: %s',
  async (trailingSlash) => {
    const url = await startNext(trailingSlash);
    const { page, offences } = await openPage(browser, `${url}/admin/jobs`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(new URL(page.url()).pathname).toBe(trailingSlash ? '/admin/jobs/' : '/admin/jobs');
    await page.locator('.connection').getByText('live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Queues', exact: true }).click();
    for (const name of ['Pause', 'Resume', 'Pause', 'Resume'])
      await page.getByRole('button', { name, exact: true }).click();
    expect(offences).toEqual([]);
    const headers = { cookie: 'session=ada', 'content-type': 'application/json' };
    const answer = await fetch(`${url}/api/jobs/greet`, { method: 'POST', headers, body: '{"name":"Ada"}' });
    expect(answer.status).toBe(202);
  },
  240_000,
);
