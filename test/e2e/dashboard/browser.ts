/** A real browser, and what every page has to stand in it. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { need } from '../../kit/servers/programs.ts';
import { findChromium } from './programs.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** For a whole file: `afterAll(() => browser.close())`. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: need('Chromium', findChromium(), 'chromium'),
    // Tests run as root in CI, where its sandbox does not start; it opens nothing but our own page.
    args: ['--no-sandbox', '--disable-background-networking', '--disable-dev-shm-usage'],
  });
}

export interface OpenPage {
  readonly page: Page;
  /** What a page must not do: errors, refusals of its policy, requests to other origins. */
  readonly offences: string[];
}

/** Its dialogs, errors and requests are watched; it closes with the test. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const offences: string[] = [];
  const { origin } = new URL(url);
  page.on('pageerror', ({ message }) => offences.push(`error: ${message}`));
  page.on('dialog', (dialog) => {
    offences.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // The browser notes each answer that refuses something: some tests want those.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      offences.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) offences.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, offences };
}

/** What axe finds, a line each. */
export async function violationsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{
          violations: { id: string; nodes: { target: unknown[]; failureSummary: string }[] }[];
        }>;
      };
    };
    const { violations } = await axe.run({ resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
    );
  });
}

/** Boxes that scroll by themselves are meant to; the page is not. */
export const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate(`[document.documentElement, ...document.querySelectorAll('main')].some(
    (one) => one.scrollWidth > one.clientWidth + 1,
  )`);
