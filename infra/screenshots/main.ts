/** `npm run screenshots`: writes a picture of every page of the dashboard into `docs/screenshots`. Needs Chromium and half a minute. */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import sharp from 'sharp';
import { createDashboard } from '../../core/surfaces/dashboard/index.ts';
import { faultInfos } from '../../local/dev/fault-names.ts';
import { serveHttp } from '../../local/serve.ts';
import { writePage } from '../dashboard/build.ts';
import { openShop } from './shop.ts';

const folder = resolve(import.meta.dirname, '../../docs/screenshots');
/** The time span of the live charts. */
const liveMs = 180_000;
/** Interval between two events of the live state. */
const everyMs = 2_000;

await writePage();
mkdirSync(folder, { recursive: true });
const shop = await openShop();
const { app, backend } = shop.client;
const dashboard = createDashboard(shop.client, {
  development: { actor: 'on-call' },
  faults: {
    list: faultInfos(app, backend),
    cause: () => Promise.reject(new Error('Nothing is broken here.')),
  },
});
const server = await serveHttp(dashboard, { port: 0 });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});

async function open(options: BrowserContextOptions): Promise<Page> {
  const size = { viewport: { width: 1280, height: 800 } };
  const context = await browser.newContext({ timezoneId: 'Europe/Berlin', ...size, ...options });
  const page = await context.newPage();
  await page.goto(dashboard.link(server.url));
  await page.locator('.connection.live').waitFor();
  return page;
}

/** Time stands still between pictures. Pages receive the new time and get a moment to draw it. */
async function passTime(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += everyMs) {
    await shop.work(everyMs);
    await delay(30);
  }
}

async function take(page: Page, name: string): Promise<void> {
  // Some responses wait by the app's clock, so time must pass.
  do await passTime(everyMs);
  while ((await page.getByText('Loading…', { exact: true }).count()) > 0);
  await delay(300);
  await sharp(await page.screenshot())
    .png({ palette: true, colours: 128, effort: 10, compressionLevel: 9 })
    .toFile(join(folder, `${name}.png`));
}

const [light, dark, narrow] = await Promise.all([
  open({ colorScheme: 'light' }),
  open({ colorScheme: 'dark' }),
  open({ colorScheme: 'light', viewport: { width: 400, height: 800 } }),
]);
await passTime(liveMs);
await take(light, 'overview');
await take(dark, 'overview-dark');
await take(narrow, 'overview-narrow');

const pages: Readonly<Record<string, string>> = {
  queues: 'queues',
  jobs: 'jobs',
  job: `jobs/${shop.runningId}`,
  batches: 'batches',
  batch: `batches/${shop.batchId}?children=failed`,
  'dead-letters': 'dead',
  'dead-letter-list': 'letters',
  'dead-letter': `letter/${shop.failedId}`,
  schedules: 'schedules',
  schedule: 'schedules/sales-report',
  workers: 'workers',
  alerts: 'alerts',
  audit: 'audit',
  capabilities: 'capabilities',
  faults: 'faults',
};
for (const [name, path] of Object.entries(pages)) {
  await light.goto(`${server.url}/#/${path}`);
  await light.locator('main h1').waitFor();
  await take(light, name);
}
await browser.close();
dashboard.close();
await server.close();
// With a stopped clock the workers never stop by themselves.
process.exit();
