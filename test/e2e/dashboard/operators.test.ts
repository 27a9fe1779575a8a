/** Two operators at the same dead letters: each hears what happened, nothing is lost, nothing is done twice. */

import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditEntry } from '../../../core/contract/derived/audit.ts';
import { openPage, startBrowser } from './browser.ts';
import { goTo, openShop, type Shop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const openShopOfTwo = (): Promise<Shop> =>
  openShop({
    dashboard: {
      authorize: ({ headers }) => ({ actor: headers.get('x-user')!, role: 'operator' }),
    },
  });

async function enter({ url }: Shop, user: string): Promise<Page> {
  const { page } = await openPage(browser, `${url}/`, { extraHTTPHeaders: { 'x-user': user } });
  return page;
}

/** Opens the dialog of a bulk action, and answers its question for many; the button starts it. */
async function asked(page: Page, action: 'Retry' | 'Discard', of = ' all', many = 1): Promise<Locator> {
  await page.getByRole('button', { name: `${action}${of}…` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: `${action} ${many}` }).waitFor();
  if (many > 100) await dialog.getByLabel(`Type ${many} to confirm`).fill(String(many));
  return dialog;
}

async function start(dialog: Locator, action: 'Retry' | 'Discard'): Promise<string> {
  await dialog.getByRole('button', { name: new RegExp(`^${action} \\d+`) }).click();
  return (await dialog.locator('b', { hasText: /ed\.$/ }).textContent())!;
}

const numberIn = (text: string): number => Number(/^\d+/.exec(text)![0]);
const ends = (entries: readonly AuditEntry[]) =>
  Object.fromEntries(
    entries.filter(({ phase }) => phase === 'done').map(({ actor, count }) => [actor, count]),
  );

it('share the letters of one moment between them', async () => {
  const shop = await openShopOfTwo();
  await shop.letters(200);
  const [anna, bert] = [await enter(shop, 'anna'), await enter(shop, 'bert')];
  for (const page of [anna, bert]) await goTo(page, 'Dead letters');
  const [hers, his] = [await asked(anna, 'Retry', ' all', 200), await asked(bert, 'Discard', ' all', 200)];
  const said = await Promise.all([start(hers, 'Retry'), start(his, 'Discard')]);
  const [retried, discarded] = said.map(numberIn) as [number, number];
  expect(retried + discarded).toBe(200);
  expect(await shop.stats()).toMatchObject({ ready: retried, dead: 0 });
  expect(ends(await shop.audit())).toEqual({ anna: retried, bert: discarded });

  shop.handled.length = 0;
  shop.mailServer.takesAll = true;
  await shop.work();
  expect(shop.handled).toHaveLength(retried);
  expect(new Set(shop.handled).size).toBe(retried);
  await hers.getByRole('button', { name: 'Close' }).click();
  await goTo(anna, 'Audit log');
  for (const who of ['anna', 'bert']) await anna.getByText(who, { exact: true }).nth(1).waitFor();
});

/** At the same dead letter. */
async function bothLookAtOne() {
  const shop = await openShopOfTwo();
  const { id } = await shop.enqueue('nobody');
  await shop.work();
  const [anna, bert] = [await enter(shop, 'anna'), await enter(shop, 'bert')];
  for (const page of [anna, bert]) {
    await page.goto(`${shop.url}/#/letter/${id}`);
    await page.getByRole('button', { name: 'Edit' }).waitFor();
  }
  return { shop, id, anna, bert };
}

it('read that another operator was faster', async () => {
  const { shop, id, anna, bert } = await bothLookAtOne();
  const dialog = await asked(bert, 'Discard', '');
  expect(await start(await asked(anna, 'Retry', ''), 'Retry')).toBe('1 dead letter retried.');
  expect(await start(dialog, 'Discard')).toBe('0 dead letters discarded.');
  await dialog.getByText('1 is there no longer.').waitFor();
  expect(await shop.stats()).toMatchObject({ ready: 1, dead: 0 });

  await bert.goto(`${shop.url}/#/letter/${id}`);
  await bert.reload();
  await bert.getByRole('alert').getByText('There is no dead letter').waitFor();
  expect(ends(await shop.audit())).toEqual({ anna: 1, bert: 0 });
});

it('do not undo what the other has done by mending the letter', async () => {
  const { shop, id, anna, bert } = await bothLookAtOne();
  await bert.getByRole('button', { name: 'Edit' }).click();
  expect(await start(await asked(anna, 'Discard', ''), 'Discard')).toBe('1 dead letter discarded.');
  await bert.getByRole('textbox').fill('{"to": "bert@b.example", "token": "[masked]"}');
  await bert.getByRole('button', { name: 'Save and retry' }).click();
  await bert.getByText(/no dead letter/).waitFor();
  expect(await shop.stats()).toMatchObject({ ready: 0, dead: 0 });
  await shop.work();
  expect(shop.handled).toEqual([id]);
});

it('do not overwrite what has died again since they looked', async () => {
  const { shop, anna, bert } = await bothLookAtOne();
  for (const page of [anna, bert]) await page.getByRole('button', { name: 'Edit' }).click();
  await anna.getByRole('textbox').fill('{"to": "anna", "token": "[masked]"}');
  await anna.getByRole('button', { name: 'Save and retry' }).click();
  await anna.waitForURL(/#\/jobs\//);
  await shop.work();
  await bert.getByRole('textbox').fill('{"to": "bert@b.example", "token": "[masked]"}');
  await bert.getByRole('button', { name: 'Save and retry' }).click();
  await bert.getByText(/was retried meanwhile/).waitFor();
  expect(await shop.stats()).toMatchObject({ ready: 0, dead: 1 });
});
