/** Every page, with texts in it that want to be more than text: dark and light, wide and narrow. */

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptReport } from '../../../core/contract/outcome.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { openPage, scrollsSideways, startBrowser, violationsOf } from './browser.ts';
import { openShop, type Shop } from './shop.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const markup = '</script><img src=x onerror="alert(1)"><svg onload=alert(1)></textarea>{{1}}';
/** 500 characters: markup, a change of the writing direction, a right-to-left script, and what a terminal would obey. */
const hostile = `${markup}\u202E\u0007\u001B[31m\u0000\uFFFF مرحبا "'&lt; ${'long'.repeat(125)}`.slice(
  0,
  500,
);

/** As long as the key of a limit may be. */
const hostileKey = `job:mail:concurrency:${hostile.replaceAll('\0', '').slice(0, 256)}`;

const counts = { acked: 1, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };

/** In every field that a program other than ours may have filled. */
async function fill({ client, mail, enqueue, work }: Shop) {
  const { backend, stores } = client;
  const now = Date.now();
  const outgoing = (id: string) => ({
    ...{ id, queue: hostile, job: hostile, body: hostile, priority: 5, notBefore: null, group: null },
    tenantId: hostile,
    facts: {
      ...{ name: hostile, idempotencyKey: hostile, schedule: hostile, requestId: hostile },
      traceparent: `00-${hostile}-b-01`,
    },
  });
  const report = ({ attempt }: JobLease): AttemptReport => ({
    ...{
      attempt,
      startedAt: now,
      endedAt: now + 5,
      outcome: 'dead-lettered',
      worker: hostile,
      host: hostile,
    },
    error: { code: hostile, message: hostile, stack: hostile },
    output: JSON.stringify({ [hostile]: hostile }),
    log: [{ at: now, text: hostile }],
  });
  const [ended, waiting] = ['hostile-ended', 'hostile-waiting'];
  await backend.enqueue([outgoing(ended)]);
  const [lease] = await backend.fetch({ queues: [hostile], max: 1, leaseMs: 60_000, waitMs: 0 });
  const error = `HANDLER: ${hostile}`;
  await backend.abandon(lease!, { reason: 'exhausted', error, report: report(lease!) });
  await backend.enqueue([outgoing(waiting)]);
  const slot = { key: hostileKey, limit: 1, queue: 'mail', holdMs: 3_600_000, rank: 0 };
  for (const holder of [hostile, waiting]) await stores.limits!.take([{ ...slot, holder, owner: holder }]);
  for (const key of ['pause:other', 'breaker:other:open', 'queue:other:rate'])
    await stores.limits!.hold(key, key === 'pause:other' ? Infinity : 3_600_000);
  await stores.workers.heartbeat({
    ...{ id: hostile, host: hostile, pid: 7, queues: [hostile], concurrency: 4, startedAt: now, seenAt: now },
    ...{ running: 1, counts, memoryBytes: 1 },
    jobs: [{ id: hostile, job: hostile, startedAt: now }],
  });
  await stores.audit!.append({
    ...{ id: 'entry-1', at: now, operation: 'one', phase: 'failed', actor: hostile, from: hostile },
    ...{ action: hostile, target: hostile, count: 1, note: hostile },
  });
  const payload = { to: hostile, token: hostile };
  const context = { tenantId: hostile.replaceAll('\0', '').slice(0, 256) };
  await client.batch(context.tenantId, [payload, payload], {
    job: mail,
    id: 'long.'.repeat(19),
    context,
  });
  await client.chain([mail, [mail, mail]] as never, payload as never, { id: 'c'.repeat(72), context });
  await client.schedules.upsert({ name: 's'.repeat(128), everyMs: 1_000, job: mail, payload, context });
  const { id: verified } = await enqueue(`${hostile}${'x'.repeat(1_000_000)}`);
  await work();
  const numbers = await stores.metrics!.read({ step: 'minute', from: 0, to: now + 3_600_000 });
  await stores.metrics!.write(numbers.map((row) => ({ ...row, queue: hostile, job: hostile })));
  return { ended, waiting, verified };
}

const at = encodeURIComponent(hostile);

/** Where the text is shown, and where it is not. */
const pagesOf = ({ ended, waiting, verified }: Awaited<ReturnType<typeof fill>>) => ({
  shown: [
    ...['', 'queues', 'jobs', 'dead', 'letters', 'limits', 'schedules', 'workers', 'audit'],
    ...['batches', `batches/${'long.'.repeat(19)}`, `batches/${'long.'.repeat(19)}?children=failed`],
    ...[`jobs/batch.${'long.'.repeat(19)}.0`, `chains/${'c'.repeat(72)}`, `schedules/${'s'.repeat(128)}`],
    ...[`letter/${ended}`, `letter/${verified}`, `jobs/${ended}`, `jobs/${waiting}`, `jobs/${verified}`],
    ...[
      `jobs/${at}`,
      `letter/${at}`,
      `schedules/${at}`,
      `batches/${at}`,
      `chains/${at}`,
      `schedules?from=${at}`,
      `jobs?error=${at}`,
      `dead?job=${at}`,
      `letters?error=${at}`,
      `limits?prefix=${at}`,
    ],
  ],
  others: ['schedules/nightly', 'alerts', 'capabilities', 'faults', at],
});

/** Nothing of it has become a part of the page. */
const partsOf = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('*')]
    .filter((one) => ['IMG', 'IFRAME', 'OBJECT'].includes(one.tagName)
      || (one.tagName === 'SCRIPT' && !one.src)
      || one.getAttributeNames().some((name) => name.startsWith('on')))
    .map((one) => one.outerHTML.slice(0, 200))`);

/** What a person sees, also in a field. */
const showsMarkup = (page: Page): Promise<boolean> =>
  page.evaluate(`document.body.innerText.includes('<img src=x onerror')
    || [...document.querySelectorAll('input, textarea')].some(({ value }) => value.includes('<img src=x onerror'))`);

async function show(page: Page, path: string): Promise<void> {
  // The page before it must be gone, or it would be looked at again.
  await page.evaluate(`new Promise((drawn) => {
    addEventListener('hashchange', () => requestAnimationFrame(() => requestAnimationFrame(drawn)), { once: true });
    location.hash = ${JSON.stringify(`#/${path}`)};
  })`);
  await page.locator('main').locator('h1, [role=alert]').first().waitFor();
  await page.getByText('Loading…', { exact: true }).first().waitFor({ state: 'detached' });
}

const themes = ['light', 'dark'] as const;
const widths = [1280, 400];

describe('every page', () => {
  it('shows texts as texts and fits, with nothing that axe finds', async () => {
    const shop = await openShop({
      store: { limits: memoryStore().limits! },
      dashboard: {
        development: true,
        faults: {
          list: [{ name: 'x', label: 'Break it', text: hostile.replaceAll('long', 'long ') }],
          cause: async () => ({ message: hostile }),
        },
      },
    });
    const { shown, others } = pagesOf(await fill(shop));
    const found: Record<string, unknown> = {};
    for (const colorScheme of themes) {
      const options: BrowserContextOptions = { colorScheme };
      const { page, offences } = await openPage(browser, shop.link(), options);
      for (const path of [...shown, ...others]) {
        await show(page, path);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 800 });
          const wrong = [...(await violationsOf(page)), ...(await partsOf(page)), ...offences.splice(0)];
          if (await scrollsSideways(page)) wrong.push('scrolls sideways');
          if (shown.includes(path) && !(await showsMarkup(page))) wrong.push('does not show the text');
          if (wrong.length > 0) found[`${path.slice(0, 40)} ${colorScheme} ${width}`] = wrong;
        }
      }
    }
    expect(found).toEqual({});
  });

  it('shows all of a text of a megabyte when it is asked to', async () => {
    const shop = await openShop({ store: { limits: memoryStore().limits! } });
    const { verified } = await fill(shop);
    const { page, offences } = await openPage(browser, shop.link());
    await show(page, `jobs/${verified}`);
    await page.getByRole('button', { name: 'Load it whole' }).click();
    const payload = page.getByRole('region', { name: 'Payload' });
    await payload.getByText('<img src=x onerror').waitFor();
    const panel = page.locator('.panel', { has: payload });
    await panel.getByRole('button', { name: /^Show all 1,000,\d{3} characters$/ }).click();
    await expect.poll(async () => (await payload.textContent())!.length).toBeGreaterThan(1_000_000);
    expect(await partsOf(page)).toEqual([]);
    expect(offences).toEqual([]);
  });
});
