/** The pages of an app with two backends in a browser: rows of both, one of them alone, and one that is away. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { alert, defineAlerts } from '../../../core/features/alerts/index.ts';
import { connect, createApp, defineJob, keyRing, PermanentError, startWorker } from '../../../core/index.ts';
import { createDashboard } from '../../../core/surfaces/dashboard/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { serveHttp } from '../../../local/serve.ts';
import { openPage, scrollsSideways, startBrowser, violationsOf } from './browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

async function open() {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-several-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const payload = z.object({ n: z.number() });
  const handle = async ({ n }: { n: number }) => {
    if (n < 0) throw new PermanentError('below zero');
  };
  const limits = { concurrency: { limit: 2 } };
  const mail = defineJob({ name: 'mail', payload, handle, ...limits });
  const thumb = defineJob({ name: 'thumb', backend: 'fast', payload, handle, ...limits });
  const app = createApp({
    jobs: [mail, thumb],
    alerts: defineAlerts({ to: [], rules: [alert.depth({ queue: 'default', above: 0 })] }),
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
  });
  const backends = { default: memory(), fast: sqlite(join(folder, 'fast.db')) };
  const client = connect(app, backends);
  for (const job of [mail, thumb]) {
    await client.enqueue(job, { n: 1 });
    await client.enqueue(job, { n: -1 });
  }
  await (await startWorker(app, { backend: backends, untilIdle: true })).done;
  const worker = await startWorker(app, { backend: backends, signals: [] });
  const dashboard = createDashboard(client, { authorize: () => ({ actor: 'anna', role: 'operator' }) });
  const server = await serveHttp(dashboard, { port: 0, drainMs: 1 });
  onTestFinished(async () => {
    await server.close();
    await worker.stop();
  });
  const { page, offences } = await openPage(browser, `${server.url}/`);
  const show = async (path: string) => {
    await page.goto(`${server.url}/#/${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
  };
  return { backends, client, offences, page, show, worker };
}

/** The cells of the column `Backend`. */
const backendsOn = async (page: Page): Promise<string[]> => {
  const titles = await page.getByRole('columnheader').allTextContents();
  const at = titles.indexOf('Backend');
  const rows = await page.getByRole('row').all();
  const cells = await Promise.all(rows.slice(1).map((row) => row.getByRole('cell').nth(at).textContent()));
  return at < 0 ? [] : [...new Set(cells.map(String))].toSorted();
};

it('shows the rows of both, each with its backend, on every page', async () => {
  const { page, offences, show } = await open();
  await page.getByText('default (memory), fast (sqlite)').waitFor();
  await page.getByRole('link', { name: 'mail' }).waitFor();
  await page.getByRole('link', { name: 'thumb' }).waitFor();
  for (const path of ['queues', 'limits', 'jobs', 'letters', 'workers', 'alerts']) {
    await show(path);
    await expect.poll(() => backendsOn(page), { message: path }).toEqual(['default', 'fast']);
    expect([path, await violationsOf(page), await scrollsSideways(page)]).toEqual([path, [], false]);
  }
  await show('jobs?backend=fast');
  await expect.poll(() => backendsOn(page)).toEqual(['fast']);
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByLabel('Backend').selectOption('default');
  await expect.poll(() => backendsOn(page)).toEqual(['default']);
  expect(offences).toEqual([]);
});

it('pauses a queue on the backend of its row, and discards the dead letters of one backend', async () => {
  const { backends, client, page, offences, show } = await open();
  const stats = (name: 'default' | 'fast') => backends[name].admin!.stats('default');
  await show('queues');
  const row = page.getByRole('row').filter({ hasText: 'fast' });
  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('paused').waitFor();
  expect([await stats('default'), await stats('fast')]).toMatchObject([
    [{ paused: false }],
    [{ paused: true }],
  ]);
  await show('letters?backend=fast');
  await page.getByRole('button', { name: 'Discard all…' }).click();
  await page.getByRole('button', { name: 'Discard 1 for good' }).click();
  await page.getByText('1 dead letter discarded.').waitFor();
  expect([await stats('default'), await stats('fast')]).toMatchObject([[{ dead: 1 }], [{ dead: 0 }]]);
  expect((await client.backends.get('fast')!.stores.audit!.page({})).entries).toHaveLength(4);
  await show('audit');
  await expect.poll(() => backendsOn(page)).toEqual(['fast']);
  expect(offences).toEqual([]);
});

it('shows the rest while one is away, and says which and why', async () => {
  const { backends, page, offences, show, worker } = await open();
  await worker.stop();
  await backends.fast.close();
  for (const path of ['queues', 'limits', 'jobs', 'letters', 'dead', 'workers', 'audit', '']) {
    await show(path);
    const notice = page.getByRole('alert').filter({ hasText: 'Backend fast does not answer' });
    await notice.first().waitFor();
  }
  await show('jobs');
  await expect.poll(() => backendsOn(page)).toEqual(['default']);
  await page.getByRole('status').filter({ hasText: 'fast does not answer' }).waitFor();
  expect([await violationsOf(page), offences]).toEqual([[], []]);
});
