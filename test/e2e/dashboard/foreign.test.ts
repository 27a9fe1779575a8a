/** A page of another origin, in a browser that has a session of the dashboard. Both are of one site: the cookie is sent along. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openPage, startBrowser } from './browser.ts';
import { openShop, type Shop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** An empty page, on a port of its own. */
async function openForeignPage(page: Page): Promise<Page> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>foreign</title><body></body>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const foreign = await page.context().newPage();
  await foreign.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return foreign;
}

async function openBoth() {
  const shop = await openShop();
  await shop.letters(3);
  await shop.enqueue('nobody');
  const { page } = await openPage(browser, shop.link());
  await page.locator('.connection').getByText('live', { exact: true }).waitFor();
  const own = await page.context().request.get(`${shop.url}/api/session`);
  const { token } = (await own.json()) as { token: string };
  return { shop, token, foreign: await openForeignPage(page) };
}

async function expectNoChange(shop: Shop): Promise<void> {
  expect(await shop.audit()).toEqual([]);
  expect(await shop.stats()).toMatchObject({ ready: 1, dead: 3, paused: false });
}

const actions = [
  'dead/discard',
  'dead/retry',
  'queues/mail/pause',
  'queues/mail/clear',
  'schedules/nightly/run',
];

it('changes nothing by forms', async () => {
  const { shop, foreign, token } = await openBoth();
  const home = foreign.url();
  const statuses: unknown[] = [];
  for (const action of actions) {
    for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      await foreign.goto(home);
      // With text/plain the body is the JSON that the action takes.
      await foreign.setContent(`<form method="post" enctype="${enctype}" action="${shop.url}/api/${action}">
        <input name='{"filter":{},"token":"${token}","x":"' value='"}'></form>`);
      const [answer] = await Promise.all([
        foreign.waitForNavigation(),
        foreign.evaluate('document.forms[0].submit()'),
      ]);
      statuses.push(answer?.status());
    }
  }
  expect(statuses).toEqual(Array.from({ length: 15 }, () => 403));
  await expectNoChange(shop);
});

it('changes and reads nothing by fetch, with the token of the session at that', async () => {
  const { shop, foreign, token } = await openBoth();
  const answers = await foreign.evaluate(
    async ({ url, token, actions }) => {
      const body = '{"filter":{}}';
      const plain = { method: 'POST', credentials: 'include', body } as const;
      const headers = { 'content-type': 'application/json', 'x-longshore-token': token };
      const tried = [
        ...actions.flatMap((action) => [
          fetch(`${url}/api/${action}`, { ...plain, mode: 'no-cors' }),
          fetch(`${url}/api/${action}`, { ...plain, headers }),
        ]),
        ...['session', 'jobs', 'dead'].flatMap((path) => [
          fetch(`${url}/api/${path}`, { credentials: 'include' }),
          fetch(`${url}/api/${path}`, { credentials: 'include', mode: 'no-cors' }),
        ]),
      ];
      return Promise.all(
        tried.map((one) =>
          one.then(
            (response) => response.text(),
            () => 'nothing',
          ),
        ),
      );
    },
    { url: shop.url, token, actions },
  );
  expect(answers).toHaveLength(16);
  expect(answers.filter((answer) => answer !== 'nothing')).toEqual([]);
  await expectNoChange(shop);
});

it('gets no stream, no frame, no script and no hold of the window', async () => {
  const { shop, foreign } = await openBoth();
  const ended = await foreign.evaluate(
    (url) =>
      new Promise<string>((resolve) => {
        const { EventSource } = globalThis as unknown as {
          EventSource: new (
            url: string,
            options: object,
          ) => { readyState: number; onerror(): void; onopen(): void };
        };
        const source = new EventSource(`${url}/api/events`, { withCredentials: true });
        source.onopen = () => resolve('open');
        source.onerror = () => resolve(`refused, ${source.readyState === 2 ? 'for good' : 'tries again'}`);
      }),
    shop.url,
  );
  expect(ended).toBe('refused, for good');

  await foreign.setContent(
    `<iframe src="${shop.url}/"></iframe><script src="${shop.url}/api/session"></script>`,
  );
  await expect.poll(() => foreign.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
  expect(await foreign.frames()[1]!.locator('#page').count()).toBe(0);

  const [opened] = await Promise.all([
    foreign.waitForEvent('popup'),
    foreign.evaluate(`window.opened = window.open('${shop.url}/'); null`),
  ]);
  await opened.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(await foreign.evaluate('window.opened.closed')).toBe(true);
  expect(await opened.evaluate('window.opener')).toBeNull();
  await expectNoChange(shop);
});
