/** Stopped jobs in a browser: paused, resumed and closed by those who may, and seen by all. */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPage, scrollsSideways, startBrowser, violationsOf } from './browser.ts';
import { goTo, openShop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

async function openStopped(role: 'operator' | 'reader', options: Parameters<Browser['newContext']>[0] = {}) {
  const shop = await openShop({ dashboard: { authorize: () => ({ actor: 'anna', role }) } });
  return { shop, limits: shop.client.stores.limits!, ...(await openPage(browser, `${shop.url}/`, options)) };
}

it('pauses the jobs of a name, says so where one of them waits, and resumes them there', async () => {
  const { shop, limits, page, offences } = await openStopped('operator');
  await goTo(page, 'Limits');
  await page.getByText('No job is paused, and no breaker is open.').waitFor();
  await page.getByRole('button', { name: 'Pause a job…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Job').selectOption('mail');
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  const stopped = page.getByRole('region', { name: 'Stopped jobs' });
  await stopped.getByText('it is resumed').waitFor();
  // Of another app, as far as this one knows.
  await limits.hold('pause:elsewhere', Infinity);
  await page.reload();
  await stopped.getByRole('link', { name: 'elsewhere' }).waitFor();
  expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(1);

  const { id } = await shop.enqueue('a@b.example');
  await shop.work();
  expect(shop.handled).toEqual([]);
  await page.goto(`${shop.url}/#/jobs/${id}`);
  await page.getByRole('heading', { name: 'Its jobs are stopped' }).waitFor();
  await page.getByText('job mail is paused: none of its jobs begins until it is resumed').waitFor();
  expect(await stopped.getByRole('cell', { name: '1', exact: true }).count()).toBe(1);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('mail is resumed').waitFor();
  await shop.work();
  expect(shop.handled).toEqual([id]);
  const done = (await shop.audit()).filter(({ phase }) => phase === 'done');
  expect(done.map(({ action, target, actor }) => [action, target, actor])).toEqual([
    ['job.pause', 'mail', 'anna'],
    ['job.resume', 'mail', 'anna'],
  ]);
  expect(offences).toEqual([]);
});

it('shows an open breaker on the overview, and closes it after a question', async () => {
  const { shop, limits, page, offences } = await openStopped('operator', {
    viewport: { width: 390, height: 800 },
  });
  await limits.hold('breaker:mail:open', 3_600_000);
  await page.reload();
  await page.getByRole('heading', { name: 'Stopped jobs' }).waitFor();
  await page.getByText('breaker open').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(await scrollsSideways(page)).toBe(false);
  await page.getByRole('button', { name: 'Close breaker…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('The failures of mail are forgotten.').waitFor();
  await dialog.getByRole('button', { name: 'Keep everything as it is' }).click();
  expect(await limits.list({})).toHaveLength(1);
  await page.getByRole('button', { name: 'Close breaker…' }).click();
  await dialog.getByRole('button', { name: 'Let its jobs run' }).click();
  await page.getByText('The breaker of mail is closed: its waiting jobs are ready.').waitFor();
  await page.getByRole('heading', { name: 'Stopped jobs' }).waitFor({ state: 'detached' });
  expect(await limits.list({})).toEqual([]);
  expect((await shop.audit()).at(-1)).toMatchObject({ action: 'job.close-breaker', phase: 'done' });
  expect(offences).toEqual([]);
});

it('shows readers what is stopped, and lets them change nothing', async () => {
  const { limits, page, offences } = await openStopped('reader');
  await limits.hold('pause:mail', Infinity);
  await goTo(page, 'Limits');
  const stopped = page.getByRole('region', { name: 'Stopped jobs' });
  await stopped.getByRole('link', { name: 'mail' }).waitFor();
  for (const name of ['Resume', 'Close breaker…', 'Pause a job…'])
    expect(await page.getByRole('button', { name }).count()).toBe(0);
  expect(offences).toEqual([]);
});
