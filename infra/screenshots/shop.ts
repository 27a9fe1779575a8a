/** The data of the pictures: the last hour of a shop whose jobs were really run, by workers with their own clock. */

import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import * as z from 'zod';
import { alert, defineAlerts } from '../../core/features/alerts/index.ts';
import {
  type Client,
  connect,
  createApp,
  defineJob,
  defineSchedule,
  fixed,
  keyRing,
  PermanentError,
  startWorker,
  tick,
} from '../../core/index.ts';
import { createOperator } from '../../core/operations/index.ts';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { type MovedClock, movedClock, numbers } from './clock.ts';

const hourMs = 3_600_000;
const end = Date.UTC(2026, 10, 23, 13, 42, 8);
const jobsPerSecond = 1.6;

// Pictures must not show the machine on which they are made.
os.hostname = () => 'shop-1';
syncBuiltinESMExports();

export interface Shop {
  readonly client: Client;
  readonly clock: MovedClock;
  /** Lets the shop work for this time. */
  work(ms: number): Promise<void>;
  /** Ids of jobs for the pictures. */
  readonly failedId: string;
  readonly runningId: string;
  readonly batchId: string;
}

/** Rewrites the stack as if the error came from the shop's code: paths of this machine must not be shown either. */
function atHome(error: Error, module: string): Error {
  const lines = [
    `handle (/app/jobs/${module}.ts:41:13)`,
    'attempt (/app/node_modules/longshore/index.js:312:20)',
  ];
  error.stack = [`${error.name}: ${error.message}`, ...lines.map((line) => `    at ${line}`)].join('\n');
  return error;
}

function defineJobs(clock: MovedClock, random: () => number) {
  const takes = (ms: number) =>
    new Promise<void>((resolve) => clock.after(ms * (0.4 + 1.2 * random()), resolve));
  const order = z.object({ order: z.string() });
  const importOrders = defineJob({
    name: 'orders.import',
    queue: 'imports',
    timeoutMs: 900_000,
    payload: z.object({ file: z.string(), rows: z.number() }),
    async handle({ file, rows }, ctx) {
      ctx.log(`reads ${file}`);
      for (let done = 0; done < rows; done += 500) {
        await ctx.progress(done, rows, `row ${done}`);
        await takes(9_000);
      }
    },
  });
  const renderInvoice = defineJob({
    name: 'invoice.render',
    queue: 'documents',
    payload: order,
    async handle(_, ctx) {
      await takes(3_000);
      if (random() < 0.02)
        throw atHome(new Error('font "Inter" could not be loaded: connect ETIMEDOUT'), 'documents');
      ctx.log('rendered', { pages: 2 });
    },
    retry: fixed(20_000),
  });
  const sendMail = defineJob({
    name: 'mail.send',
    queue: 'mail',
    payload: z.object({ to: z.string(), template: z.string(), apiToken: z.string() }),
    keepPayload: true,
    async handle({ to, template }, ctx) {
      ctx.log(`renders template ${template}`);
      await takes(350);
      ctx.log('connects to smtp.shop.example:587');
      if (!to.includes('@')) throw atHome(new PermanentError(`550 5.1.1 no such recipient: ${to}`), 'mail');
      return { messageId: `<${ctx.id.slice(0, 8)}@shop.example>` };
    },
  });
  const callWebhook = defineJob({
    name: 'webhook.call',
    queue: 'webhooks',
    payload: order,
    maxRetries: 2,
    retry: fixed(15_000),
    async handle({ order }, ctx) {
      ctx.log(`POST https://partner.example/hooks/orders ${order}`);
      await takes(1_400);
      if (random() < 0.22)
        throw atHome(new Error('POST https://partner.example/hooks/orders answered 503'), 'webhooks');
    },
  });
  const resizeImage = defineJob({
    name: 'image.resize',
    queue: 'images',
    payload: z.object({ path: z.string(), width: z.number() }),
    maxRetries: 1,
    retry: fixed(5_000),
    async handle({ path }) {
      await takes(9_000);
      if (path.endsWith('.heic')) throw atHome(new Error(`unsupported image format: ${path}`), 'images');
    },
  });
  const writeReport = defineJob({
    name: 'report.write',
    queue: 'reports',
    payload: z.object({ kind: z.string() }),
    handle: () => takes(9_000),
  });
  const importLine = defineJob({
    name: 'line.import',
    queue: 'imports',
    payload: z.object({ line: z.number() }),
    maxRetries: 0,
    async handle({ line }) {
      await takes(700);
      if (line % 97 === 12)
        throw atHome(new PermanentError(`line ${line}: no article "A-${line}"`), 'imports');
    },
  });
  const reportImport = defineJob({
    name: 'import.report',
    queue: 'reports',
    payload: z.object({ name: z.string(), succeeded: z.number(), failed: z.number() }),
    handle: () => takes(900),
  });
  return {
    ...{ importOrders, renderInvoice, sendMail, callWebhook, resizeImage, writeReport },
    ...{ importLine, reportImport },
  };
}

export async function openShop(): Promise<Shop> {
  const random = numbers(7);
  const clock = movedClock(end - hourMs);
  const jobs = defineJobs(clock, random);
  const timed = [
    { name: 'sales-report', cron: '*/10 * * * *', kind: 'sales', timezone: 'Europe/Berlin' },
    { name: 'nightly-backup', cron: '30 2 * * *', kind: 'backup', timezone: 'Europe/Berlin' },
    { name: 'stock-check', everyMs: 300_000, kind: 'stock' },
    { name: 'month-end', cron: '0 6 1 * *', kind: 'month', timezone: 'America/New_York' },
  ];
  const app = createApp({
    jobs: Object.values(jobs),
    schedules: timed.map(({ kind, ...rest }) =>
      defineSchedule({ ...rest, job: jobs.writeReport, payload: { kind } }),
    ),
    alerts: defineAlerts({ to: [], rules: alert.standard() }),
    signing: keyRing([{ kid: 'key-1', secret: new Uint8Array(32) }]),
    clock,
    random,
  });
  const backend = sqlite({ path: ':memory:', clock, pollMs: 1_000 });
  const client = connect(app, backend);
  for (const concurrency of [4, 4, 2]) {
    const rssBytes = () => Math.round((70 + 12 * random()) * 1_048_576);
    startWorker(app, { backend, concurrency, testing: { rssBytes } });
  }

  let made = 0;
  async function enqueueSome(): Promise<void> {
    made += 1;
    const order = `H-${4_000 + made}`;
    const context = { tenantId: `shop-${1 + Math.floor(random() * 9)}` };
    const kind = random();
    if (kind < 0.4) {
      const to = random() < 0.015 ? `customer${made}.example` : `customer${made}@mail.example`;
      const template = kind < 0.2 ? 'order-confirmation' : 'shipped';
      await client.enqueue(jobs.sendMail, { to, template, apiToken: 'sample' }, { context });
    } else if (kind < 0.62) await client.enqueue(jobs.renderInvoice, { order }, { context });
    else if (kind < 0.85) await client.enqueue(jobs.callWebhook, { order }, { context });
    else {
      const path = `products/${made}.${random() < 0.03 ? 'heic' : 'jpg'}`;
      await client.enqueue(jobs.resizeImage, { path, width: 800 }, { context });
    }
  }

  let owed = 0;
  async function work(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      const hour = (clock.now() % hourMs) / hourMs;
      owed += jobsPerSecond * (0.7 + 0.5 * Math.sin(hour * 19) + random());
      for (; owed >= 1; owed--) await enqueueSome();
      if (clock.now() % 60_000 < 1_000) await tick(app, client);
      await clock.advance(1_000);
    }
  }

  await work(hourMs - 600_000);
  await makeAtRunTime(client, jobs);
  for (const act of actionsOf(client)) {
    await act();
    await work(48_000);
  }
  for (let i = 0; i < 140; i++)
    await client.enqueue(
      jobs.sendMail,
      { to: `reader${i}@mail.example`, template: 'newsletter', apiToken: 'sample' },
      { delayMs: 7_200_000 },
    );
  const batchId = 'lines-2026-11-23';
  const ends = { onFailure: jobs.reportImport, onComplete: jobs.reportImport, allowFailures: '5%' } as const;
  const low = { priority: 'low' } as const;
  await client.batch('price list', lines(6_000), {
    id: batchId,
    job: jobs.importLine,
    options: low,
    ...ends,
  });
  const { id: runningId } = await client.enqueue(jobs.importOrders, {
    file: 'orders-2026-11.csv',
    rows: 24_000,
  });
  await work(120_000);
  const [failed] = (await client.stores.records.page({ status: 'failed', job: 'mail.send', max: 1 })).records;
  return { client, clock, work, failedId: failed!.id, runningId, batchId };
}

const lines = (count: number) => Array.from({ length: count }, (_, line) => ({ line }));

/** Schedules created by customers, and two batches of this hour. */
async function makeAtRunTime(client: Client, jobs: ReturnType<typeof defineJobs>): Promise<void> {
  for (const [i, cron] of ['0 9 * * 1', '30 7 * * *', '0 18 * * 5'].entries())
    await client.schedules.upsert({
      ...{ name: `digest-shop-${i + 1}`, cron, timezone: 'Europe/Berlin', job: jobs.writeReport },
      ...{ payload: { kind: 'digest' }, context: { tenantId: `shop-${i + 1}` } },
    });
  await client.schedules.pause('digest-shop-2');
  for (const [name, count] of [
    ['stock', 40],
    ['returns', 12],
  ] as const)
    await client.batch(name, lines(count), { job: jobs.importLine, onComplete: jobs.reportImport });
}

/** The actions of operators meanwhile. */
function actionsOf(client: Client): readonly (() => Promise<unknown>)[] {
  const onCall = createOperator(client, { actor: 'on-call', from: 'dashboard 10.0.0.7' });
  const support = createOperator(client, { actor: 'support', from: 'cli shop-1' });
  return [
    () => onCall.queues.pause('webhooks'),
    () => onCall.deadLetters.retry({ filter: { job: 'webhook.call' } }, { limit: 12 }),
    () => onCall.queues.resume('webhooks'),
    () => support.deadLetters.discard({ filter: { job: 'image.resize' } }, { limit: 4 }),
    () => support.schedules.run('sales-report'),
    () => onCall.schedules.pause('month-end'),
    () => support.jobs.cancel(['01a2086d-9100-7c8b-8569-2b39c2f5f3aa']),
    () => onCall.workers.drain('worker-that-is-gone').catch(() => {}),
    () => onCall.queues.pause('reports'),
  ];
}
