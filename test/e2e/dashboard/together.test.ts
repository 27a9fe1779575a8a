/** Batches, chains and schedules made at run time in a browser: seen by all, steered by operators. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPage, startBrowser } from './browser.ts';
import { goTo, openShop, type Shop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

async function enter(role: 'operator' | 'reader') {
  const shop = await openShop({ dashboard: { authorize: () => ({ actor: 'anna', role }) } });
  const people = ['nobody', 'anna@b.example', 'no one'].map((to) => ({ to, token: 's3cret' }));
  await shop.client.batch('orders', people, { job: shop.mail, id: 'orders-7' });
  await shop.work();
  await shop.client.batch('letters', people, { job: shop.mail, options: { delayMs: 3_600_000 } });
  await shop.client.schedules.upsert({
    ...{ name: 'digest-7', everyMs: 86_400_000, job: shop.mail },
    payload: { to: 'anna@b.example', token: 's3cret' },
  });
  return { shop, ...(await openPage(browser, `${shop.url}/`)) };
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const ends = async (shop: Shop) =>
  (await shop.audit()).filter(({ phase }) => phase === 'done').map(({ action, count }) => [action, count]);

it('retries what failed of a batch, and cancels another one', async () => {
  const { shop, page, offences } = await enter('operator');
  await goTo(page, 'Batches');
  await goTo(page, 'orders');
  await goTo(page, 'Failed');
  const children = page.getByRole('region', { name: 'Children' });
  await children.getByText('no such address: no one').waitFor();
  expect(await children.getByRole('row').count()).toBe(1 + 2);
  await children.getByRole('link').first().click();
  await page.getByText('child 0 of orders').waitFor();
  await goTo(page, 'orders');
  shop.mailServer.takesAll = true;
  await button(page, 'Retry what failed…').click();
  await button(page, 'Retry 2 children').click();
  await page.getByText('2 children run again.').waitFor();
  await shop.work();
  await page.getByText('3 succeeded, 0 failed, of 3').waitFor();

  await goTo(page, 'Batches');
  await goTo(page, 'letters');
  await button(page, 'Cancel…').click();
  await button(page, 'Cancel 3 children').click();
  await page.getByText('0 succeeded, 3 cancelled or failed, of 3').waitFor();
  expect(await ends(shop)).toEqual([
    ['batch.retry', 2],
    ['batch.cancel', 1],
  ]);
  expect(offences).toEqual([]);
});

it('pauses, runs and removes a schedule that was made at run time', async () => {
  const { shop, page, offences } = await enter('operator');
  await goTo(page, 'Schedules');
  const row = page.getByRole('row', { name: 'digest-7' });
  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByRole('button', { name: 'Resume' }).waitFor();
  await row.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('The job of digest-7 is enqueued').waitFor();
  await goTo(page, 'digest-7');
  await page.getByText('It is paused').waitFor();
  await button(page, 'Remove…').click();
  await button(page, 'Remove the schedule').click();
  await page.getByText('No schedule was made at run time.').waitFor();
  expect((await ends(shop)).map(([action]) => action)).toEqual([
    'schedule.pause',
    'schedule.run',
    'schedule.remove',
  ]);
  expect(offences).toEqual([]);
});

it('shows readers all of it, and no button', async () => {
  const { shop, page, offences } = await enter('reader');
  for (const [path, text] of [
    ['batches/orders-7?children=failed', 'no such address: nobody'],
    ['schedules', 'digest-7'],
    ['schedules/digest-7', '[masked]'],
  ]) {
    await page.goto(`${shop.url}/#/${path}`);
    await page.getByText(text!).first().waitFor();
    expect(
      await page
        .locator('main')
        .getByRole('button', { name: /Cancel|Retry|Pause|Run|Remove/ })
        .count(),
    ).toBe(0);
  }
  expect(offences).toEqual([]);
});
