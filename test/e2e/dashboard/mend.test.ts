/** From an empty queue to a mended dead letter, in a real browser, on a SQLite file with a real worker. */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPage, scrollsSideways, startBrowser, violationsOf } from './browser.ts';
import { goTo, openShop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** Markup, a change of the writing direction, and what a terminal would obey. */
const hostile = `<img src=x onerror="alert(1)">\u202E\u0007 ${'long'.repeat(125)}`;

it('leads from an empty queue to a mended dead letter, and remembers who did it', async () => {
  const shop = await openShop();
  const { page, offences } = await openPage(browser, shop.link());
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(page.url()).not.toContain('token');
  await goTo(page, 'Dead letters');
  await page.getByRole('heading', { name: 'Dead letters' }).waitFor();

  const { id } = await shop.enqueue(hostile);
  await shop.work();
  await page.reload();
  await page.getByText('no such address').first().waitFor();
  expect(await scrollsSideways(page)).toBe(false);
  expect(await violationsOf(page)).toEqual([]);

  await page.goto(`${page.url().split('#')[0]}#/letter/${id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const field = page.getByRole('textbox', { name: 'Payload, as JSON' });
  expect(await field.inputValue()).not.toContain('s3cret');
  await field.fill('{"to": 7, "token": "[masked]"}');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.locator('.finding.bad').getByText('to', { exact: true }).waitFor();
  await field.fill('{"to": "anna@b.example", "token": "[masked]"}');
  await page.getByRole('button', { name: 'Save and retry' }).click();
  await page.waitForURL(/#\/jobs\//);
  await shop.work();
  expect(await shop.client.status(id)).toMatchObject({ status: 'completed', output: 'sent' });

  await goTo(page, 'Audit log');
  await page.getByText('dead.edit').first().waitFor();
  await page.getByText('anna').first().waitFor();
  expect(offences).toEqual([]);
});

it('changes what its buttons say, after a question where it cannot be undone', async () => {
  const shop = await openShop();
  await shop.enqueue('nobody');
  const second = await shop.enqueue('no one');
  await shop.work();
  await shop.enqueue('anna@b.example');
  const { page, offences } = await openPage(browser, shop.link());
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const ready = async () => (await shop.client.backend.admin!.stats('mail'))[0]!.ready;

  await goTo(page, 'Queues');
  await button('Pause').click();
  await button('Resume').click();
  await button('Pause').waitFor();
  await button('Clear…').click();
  await button('Keep everything as it is').click();
  expect(await ready()).toBe(1);
  await button('Clear…').click();
  await button('Remove 1 job').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await ready()).toBe(0);

  await page.goto(`${page.url().split('#')[0]}#/letters`);
  await page.getByRole('checkbox', { name: `Choose ${second.id}` }).check();
  await button('Retry 1 chosen one…').click();
  await button('Retry 1').click();
  await page.getByText('1 dead letter retried.').waitFor();
  await page.getByText('1 dead letters are listed: that is all there is.').waitFor();
  // What was chosen is chosen no longer; the dialog is still about it, and not about all there are.
  await button('Count').click();
  await page.getByText('0 dead letters would be retried.').waitFor();
  expect(await ready()).toBe(1);
  await button('Close').click();
  await page.getByRole('link', { name: 'In groups' }).click();
  await page.getByText('1 group in 1 dead letter.').waitFor();
  await button('Discard…').click();
  await button('Discard 1 for good').click();
  await page.getByText('1 dead letter discarded.').waitFor();
  await page.getByText('There are no dead letters.').waitFor();
  expect(offences).toEqual([]);
});

it('discards nothing that was not counted and read, and many only when their number is typed', async () => {
  const shop = await openShop();
  await shop.letters(102);
  const { page, offences } = await openPage(browser, shop.link());
  await goTo(page, 'Dead letters');
  await page.getByRole('button', { name: 'Discard all…' }).click();
  await page.keyboard.press('Enter');
  const discard = page.getByRole('button', { name: 'Discard 102 for good' });
  await discard.waitFor();
  await page.keyboard.press('Enter');
  const typed = page.getByLabel('Type 102 to confirm');
  await typed.press('Enter');
  await typed.fill('101');
  expect(await discard.isDisabled()).toBe(true);
  expect(await shop.audit()).toEqual([]);
  expect(await scrollsSideways(page)).toBe(false);
  expect(await violationsOf(page)).toEqual([]);

  await page.getByLabel('At most').fill('100');
  await page.getByRole('button', { name: 'Count' }).click();
  await page.getByRole('button', { name: 'Discard 100 for good' }).click();
  await page.getByText('100 dead letters discarded.').waitFor();
  expect(await shop.stats()).toMatchObject({ dead: 2 });

  for (let i = 0; i < 101; i++) await shop.enqueue('anna@b.example');
  await page.getByRole('button', { name: 'Close' }).click();
  await goTo(page, 'Queues');
  await page.getByRole('button', { name: 'Clear…' }).click();
  await page.keyboard.press('Enter');
  const remove = page.getByRole('button', { name: 'Remove 101 jobs' });
  expect(await remove.isDisabled()).toBe(true);
  await page.getByLabel('Type 101 to confirm').fill('101');
  await remove.click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await shop.stats()).toMatchObject({ ready: 0 });
  expect(offences).toEqual([]);
});

it('keeps the dialog of a bulk action that runs, however often Escape is pressed', async () => {
  const shop = await openShop();
  await shop.enqueue('nobody');
  await shop.enqueue('no one');
  await shop.work();
  const { page } = await openPage(browser, shop.link());
  await page.goto(`${page.url().split('#')[0]}#/letters`);
  await page.getByRole('button', { name: 'Retry all…' }).click();
  await page.getByRole('spinbutton', { name: 'Per second' }).fill('0.01');
  await page.getByRole('button', { name: 'Retry 2', exact: true }).click();
  const stop = page.getByRole('button', { name: 'Stop' });
  await stop.waitFor();
  for (let i = 0; i < 3; i++) await page.keyboard.press('Escape');
  await stop.click();
  await page.getByRole('alert').getByText('Stopped.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

it('loads a large payload whole when it is asked to, and edits only that', async () => {
  const shop = await openShop();
  const { id } = await shop.enqueue('x'.repeat(300_000));
  await shop.work();
  const { page } = await openPage(browser, shop.link());
  const start = page.url().split('#')[0];
  for (const path of ['jobs', 'letter']) {
    await page.goto(`${start}#/${path}/${id}`);
    const load = page.getByRole('button', { name: 'Load it whole' });
    await load.waitFor();
    expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
    await load.click();
    await page.getByRole('region', { name: 'Payload' }).getByText('"to": "xxx').waitFor();
    expect(await load.count()).toBe(0);
  }
  await page.getByRole('button', { name: 'Edit' }).click();
  const field = page.getByRole('textbox', { name: 'Payload, as JSON' });
  expect((await field.inputValue()).length).toBeGreaterThan(300_000);
});

it('refuses a link that was used, in words', async () => {
  const shop = await openShop();
  const link = shop.link();
  await openPage(browser, link);
  const { page } = await openPage(browser, link);
  await page.getByText(/used/).first().waitFor();
  expect(await page.getByRole('link', { name: 'Dead letters' }).count()).toBe(0);
});

it('lets a delayed job run now, and removes another', async () => {
  const shop = await openShop();
  const [now, never] = [await shop.enqueue('anna@b.example'), await shop.enqueue('bert@b.example')];
  for (const { id } of [now, never]) await shop.client.update(shop.mail, id, { delayMs: 3_600_000 });
  const { page, offences } = await openPage(browser, shop.link());
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const home = page.url().split('#')[0];
  await page.goto(`${home}#/jobs/${now.id}`);
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('It may still wait: no worker is running').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.goto(`${home}#/jobs/${never.id}`);
  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove the job' }).click();
  await page.waitForURL(/#\/jobs$/);
  await shop.work();
  expect(shop.handled).toEqual([now.id]);
  expect(await shop.client.status(never.id)).toBeNull();
  await page.goto(`${home}#/jobs/${now.id}`);
  await page.getByRole('button', { name: 'Run again…' }).waitFor();
  expect(await page.getByRole('button', { name: 'Run now' }).count()).toBe(0);
  expect(offences).toEqual([]);
});
