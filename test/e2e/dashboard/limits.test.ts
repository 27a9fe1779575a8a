/** The page of limits in a browser: found by their keys, reset by those who may, and why a job waits. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { openPage, startBrowser } from './browser.ts';
import { goTo, openShop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** With all that a path, a query, a form or a text on a page might take for something else. */
const hostile = `a/b %2F?x=1&y#z <b>"'</b> مرحبا 你好 👩‍🚀 ${'k'.repeat(256)}`.slice(0, 256);

async function openLimits(role: 'operator' | 'reader') {
  const store = { limits: memoryStore().limits! };
  const shop = await openShop({ store, dashboard: { authorize: () => ({ actor: 'anna', role }) } });
  const { id } = await shop.enqueue('a@b.example');
  const keyOf = (part: string): string => `job:mail:concurrency:${part}`;
  const take = (key: string, holder: string) =>
    store.limits.take([{ key, limit: 1, holder, owner: holder, holdMs: 3_600_000, rank: 0, queue: 'mail' }]);
  for (const part of [hostile, 'plain']) await take(keyOf(part), `holder-of-${part.slice(0, 5)}`);
  await take(keyOf(hostile), id);
  const { page, offences } = await openPage(browser, `${shop.url}/`);
  await goTo(page, 'Limits');
  return { shop, page, offences, id, key: keyOf(hostile), limits: store.limits };
}

const keysOn = (page: Page): Promise<string[]> =>
  page.getByRole('row').locator('td:first-child').allTextContents();

it('finds limits by how their keys begin, and resets one of them', async () => {
  const { shop, page, offences, key, limits } = await openLimits('operator');
  const plain = 'job:mail:concurrency:plain';
  await expect.poll(() => keysOn(page)).toEqual([key, plain]);
  const search = page.getByRole('searchbox');
  await search.fill('job:mail:concurrency:pl');
  await expect.poll(() => keysOn(page)).toEqual([plain]);
  await search.fill(key);
  await expect.poll(() => keysOn(page)).toEqual([key]);
  // The address is the search: it can be sent to somebody.
  await page.reload();
  await expect.poll(() => keysOn(page)).toEqual([key]);
  expect(await page.getByRole('searchbox').inputValue()).toBe(key);

  await page.getByRole('button', { name: 'Reset…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 slot in use, 1 job waiting.').waitFor();
  await dialog.getByRole('button', { name: 'Free its slots' }).click();
  await page.getByText('All slots are free').waitFor();
  await page.getByText('No limit begins like this.').waitFor();
  expect((await limits.list({})).map((one) => one.key)).toEqual([plain]);
  const ends = (await shop.audit()).filter(({ phase }) => phase === 'done');
  expect(ends.map(({ action, target, actor }) => [action, target, actor])).toEqual([
    ['limit.reset', key, 'anna'],
  ]);
  expect(offences).toEqual([]);
});

it('shows readers who has a slot and why a job waits, and lets them reset nothing', async () => {
  const { shop, page, offences, id } = await openLimits('reader');
  await page.getByRole('link', { name: 'holder-of-plain' }).waitFor();
  expect(await page.getByRole('button', { name: 'Reset…' }).count()).toBe(0);
  await page.goto(`${shop.url}/#/jobs/${id}`);
  await page
    .getByText(`for key ${JSON.stringify(hostile)}: 1 of 1 slots in use by job holder-of-a/b`)
    .waitFor();
  expect(offences).toEqual([]);
});
