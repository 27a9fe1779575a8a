/** Runs the page of docs/progress.md in a real browser, with a real worker and server. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob } from '../../core/index.ts';
import { createHttpHandler } from '../../core/surfaces/http/index.ts';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { serveHttp, startLocal } from '../../local/index.ts';
import { openPage, startBrowser } from './dashboard/browser.ts';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/progress.md'), 'utf8');
const [, html = ''] = /^```html\n(.*?)^```$/ms.exec(text)!;

let browser: Awaited<ReturnType<typeof startBrowser>>;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

it('shows the progress of a job through a restart of the server, and stops at its end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-progress-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const reached = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const makeReport = defineJob({
    name: 'report.make',
    payload: z.object({ month: z.string(), pages: z.int() }),
    async handle({ month, pages }, ctx) {
      await ctx.progress(3, pages, 'page 3');
      await reached[0].promise;
      await ctx.progress(9, pages, 'page 9');
      await reached[1].promise;
      return { url: `/reports/${month}.pdf` };
    },
  });
  const app = createApp({ jobs: [makeReport] });
  const worker = await startLocal(app, { backend: sqlite(join(folder, 'jobs.db')), logger: false });
  onTestFinished(async () => void (await worker.stop()));

  const authorize = (request: Request) =>
    request.headers.get('cookie') === 'session=ada' ? { tenantId: 'acme' } : null;
  const serve = (port: number) => {
    const client = connect(app, sqlite(join(folder, 'jobs.db')));
    return serveHttp(createHttpHandler(client, { basePath: '/api', authorize }), { port, drainMs: 100 });
  };
  let server = await serve(0);
  onTestFinished(() => server.close());
  const { url, port } = server;

  const { page } = await openPage(browser, 'about:blank');
  await page.context().addCookies([{ name: 'session', value: 'ada', url }]);
  await page.route(`${url}/`, (route) => route.fulfill({ body: html, contentType: 'text/html' }));
  const asked: number[] = [];
  page.on('response', (response) => {
    if (response.url().endsWith('/events')) asked.push(response.status());
  });
  await page.goto(`${url}/`);
  await page.getByRole('button').click();
  const output = page.locator('output');
  await output.getByText('page 3').waitFor();
  expect(await page.locator('progress').getAttribute('value')).toBe(String(3 / 12));

  await server.close();
  reached[0].resolve();
  server = await serve(port);
  await output.getByText('page 9').waitFor();
  reached[1].resolve();
  await output.getByText('/reports/2026-11.pdf').waitFor();
  expect(asked).toEqual([200, 200]);
});
