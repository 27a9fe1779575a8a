/** The page where its server does not know the browser: an expired link, a session that is over. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compilePage, type PageFile } from '../../../infra/dashboard/build.ts';
import { openPage, scrollsSideways, startBrowser, violationsOf } from './browser.ts';

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'";
const detail = 'Expected a session, got none: this link was used before.';
let browser: Browser;
let server: Server;
let url: string;

/** Refuses every question, as the dashboard does without a session. */
function serve(files: readonly PageFile[]): Server {
  return createServer((request, response) => {
    const path = request.url!.replace('/jobs-board/', '') || 'index.html';
    const file = files.find((one) => one.path === path);
    if (!file) {
      response.writeHead(401, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ status: 401, code: 'UNAUTHORIZED', detail }));
      return;
    }
    response.writeHead(200, {
      'content-type': file.type,
      'content-encoding': 'gzip',
      'content-security-policy': policy,
    });
    response.end(file.gzip);
  });
}

beforeAll(async () => {
  server = serve(await compilePage()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jobs-board/`;
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

describe('a page that is refused', () => {
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 400],
  ] as const)('says why and what to do (%s, %i px)', async (colorScheme, width) => {
    const { page, offences } = await openPage(browser, url, {
      colorScheme,
      viewport: { width, height: 800 },
    });
    await page.getByRole('heading', { name: 'You are not signed in here' }).waitFor();
    expect(await page.getByRole('alert').textContent()).toBe(detail);
    expect(await page.getByText('longshore dashboard').count()).toBe(1);
    expect(await violationsOf(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);
    expect(offences).toEqual([]);
  });

  it('is found out by these tests when it does what it must not', async () => {
    const { page, offences } = await openPage(browser, url);
    await page.getByRole('alert').waitFor();
    await page.evaluate(() => {
      const { document } = globalThis as unknown as {
        document: { body: { insertAdjacentHTML(at: string, html: string): void } };
      };
      document.body.insertAdjacentHTML(
        'beforeend',
        '<img src="http://127.0.0.1:1/x.png"><b onclick="1" style="width:4000px;display:block">x</b>',
      );
    });
    await expect.poll(() => offences.join()).toMatch(/Content Security Policy/);
    expect(await violationsOf(page)).toContainEqual(expect.stringContaining('image-alt'));
  });
});
