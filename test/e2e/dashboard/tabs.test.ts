/** Many tabs of one browser, which opens six connections to an origin over HTTP/1.1: one stream serves all that are seen. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPage, startBrowser } from './browser.ts';
import { openShop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const keepSources = `
  globalThis.sources = [];
  globalThis.EventSource = class extends EventSource {
    constructor(address) {
      super(address);
      sources.push(this);
    }
  };`;
const hasStream = (page: Page): Promise<boolean> =>
  page.evaluate('sources.some(({ readyState }) => readyState !== EventSource.CLOSED)');

async function openTabs(count: number) {
  const shop = await openShop();
  const { page } = await openPage(browser, shop.link());
  const context = page.context();
  await context.addInitScript(keepSources);
  await page.reload();
  const tabs = [page];
  await isLive(page);
  while (tabs.length < count) {
    const tab = await context.newPage();
    await tab.goto(`${shop.url}/`);
    await isLive(tab);
    tabs.push(tab);
  }
  /** Of the tabs that are open, the numbers of those that have a stream. */
  async function streaming(): Promise<number[]> {
    const found = await Promise.all(tabs.map(async (tab) => !tab.isClosed() && hasStream(tab)));
    return found.flatMap((has, i) => (has ? [i] : []));
  }
  return { shop, tabs, streaming };
}

const isLive = (page: Page): Promise<void> =>
  page.locator('.connection').getByText('live', { exact: true }).waitFor();
const waiting = (page: Page): Promise<string | null> =>
  page.locator('.tiles a', { hasText: 'Waiting' }).locator('.value').textContent();

/** No window is really hidden in a browser without a screen. */
const setHidden = (page: Page, hidden: boolean): Promise<unknown> =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));`);

it('are all live, by one stream', async () => {
  const { shop, tabs, streaming } = await openTabs(8);
  expect(await streaming()).toEqual([0]);
  await shop.enqueue('anna@b.example');
  for (const tab of tabs) await expect.poll(() => waiting(tab)).toBe('1');
  expect(await streaming()).toEqual([0]);
});

it('go on with a stream of another tab when the one that has it is closed or hidden, and have none while all are hidden', async () => {
  const { shop, tabs, streaming } = await openTabs(4);
  await tabs[0]!.close();
  await expect.poll(streaming).toEqual([1]);
  await setHidden(tabs[1]!, true);
  await expect.poll(streaming).toEqual([2]);
  await shop.enqueue('anna@b.example');
  for (const tab of tabs.slice(1)) await expect.poll(() => waiting(tab)).toBe('1');

  for (const tab of tabs.slice(2)) await setHidden(tab, true);
  await expect.poll(streaming).toEqual([]);
  await shop.enqueue('bert@b.example');
  await setHidden(tabs[1]!, false);
  await expect.poll(() => waiting(tabs[1]!)).toBe('2');
  expect(await streaming()).toEqual([1]);
});

it('asks where the browser shares nothing, as over http from another machine', async () => {
  const shop = await openShop();
  const { page } = await openPage(browser, shop.link());
  await page.addInitScript('delete Navigator.prototype.locks');
  await page.addInitScript(keepSources);
  await page.reload();
  await isLive(page);
  await shop.enqueue('anna@b.example');
  await expect.poll(() => waiting(page), { timeout: 15_000 }).toBe('1');
  expect(await hasStream(page)).toBe(false);
});
