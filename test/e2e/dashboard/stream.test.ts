/** An open page whose dashboard or backend goes away, and comes back. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { startProxy } from '../../kit/network/proxy.ts';
import { freshDatabase } from '../../services/postgres/schemas.ts';
import { openPage, startBrowser } from './browser.ts';
import { goTo, openShop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const state = (page: Page) => page.locator('.connection');
const isLive = (page: Page): Promise<void> => state(page).getByText('live', { exact: true }).waitFor();
const tile = (page: Page, name: string) => page.locator('.tiles a', { hasText: name }).locator('.value');

describe('a page whose dashboard is killed', () => {
  it('says so, and goes on by itself with new numbers', async () => {
    const shop = await openShop();
    const { page, offences } = await openPage(browser, shop.link());
    await isLive(page);
    await shop.kill();
    await state(page).getByText('Is its program still running?').waitFor();
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    expect(await page.evaluate('document.getAnimations().length')).toBe(1);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);

    await shop.enqueue('anna@b.example');
    await shop.restart();
    await isLive(page);
    await expect.poll(() => tile(page, 'Waiting').textContent()).toBe('1');
    await shop.enqueue('bert@b.example');
    await expect.poll(() => tile(page, 'Waiting').textContent()).toBe('2');
    expect(offences).toEqual([]);
  });

  it('says that an action did not arrive, and takes it again', async () => {
    const shop = await openShop();
    const { page } = await openPage(browser, shop.link());
    await isLive(page);
    await goTo(page, 'Queues');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await shop.kill();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.notice.failed').getByText('The dashboard does not answer.').waitFor();
    expect(await shop.audit()).toEqual([]);
    expect(await shop.stats()).toMatchObject({ paused: false });

    await shop.restart();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('mail is paused').waitFor();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect((await shop.audit()).map(({ phase }) => phase).sort()).toEqual(['begun', 'done']);
  });

  it('while it retries has lost no letter, and retries the others when it is asked again', async () => {
    const shop = await openShop();
    await shop.letters(30);
    const { page } = await openPage(browser, shop.link());
    await goTo(page, 'Dead letters');
    await page.getByRole('button', { name: 'Retry all…' }).click();
    await page.getByLabel('Per second').fill('5');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Retry 30', exact: true }).click();
    await dialog.getByText(/^[1-9]\d* of 30 retried/).waitFor();
    await shop.kill();
    await dialog.getByText('The audit log tells how far it came.').waitFor();
    await expect.poll(async () => (await shop.audit()).at(-1)!.phase).toBe('done');
    const { count } = (await shop.audit()).at(-1)!;
    expect(await shop.stats()).toMatchObject({ ready: count, dead: 30 - count! });

    await shop.restart();
    await page.getByLabel('Per second').fill('');
    await dialog.getByRole('button', { name: 'Count' }).click();
    await dialog.getByRole('button', { name: `Retry ${30 - count!}`, exact: true }).click();
    await dialog.getByText(`${30 - count!} dead letters retried.`).waitFor();
    shop.handled.length = 0;
    shop.mailServer.takesAll = true;
    await shop.work();
    expect(shop.handled).toHaveLength(30);
    expect(new Set(shop.handled).size).toBe(30);
  });
});

describe('a page whose backend goes away', () => {
  it('says so in words, keeps what it knows, and goes on by itself', async () => {
    const database = await freshDatabase();
    await postgres({ url: database.url }).migrate!();
    const proxy = await startProxy(database.url);
    onTestFinished(async () => {
      await proxy.close();
      await database.drop();
    });
    const shop = await openShop({ backend: postgres({ url: proxy.url }) });
    await shop.enqueue('anna@b.example');
    const { page, offences } = await openPage(browser, shop.link());
    await isLive(page);
    await expect.poll(() => tile(page, 'Waiting').textContent()).toBe('1');

    proxy.lead('postgres://127.0.0.1:1');
    proxy.cut('');
    await state(page).getByText('backend does not answer: ').waitFor();
    expect(await tile(page, 'Waiting').textContent()).toBe('1');
    await goTo(page, 'Jobs');
    await page.getByRole('alert').getByText('Postgres failed').waitFor();
    expect(await page.getByText('There is no job yet').count()).toBe(0);

    proxy.lead(database.url);
    await isLive(page);
    await page.getByRole('button', { name: 'Load again' }).click();
    await page.locator('.rows').getByText('pending').waitFor();
    await shop.enqueue('bert@b.example');
    await goTo(page, 'Overview');
    await expect.poll(() => tile(page, 'Waiting').textContent()).toBe('2');
    expect(offences).toEqual([]);
  });
});
