/** What happens in the demo, and what must have come of it in the end. */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, withContext } from '../../core/index.ts';
import type { ExampleApp } from '../app/app.ts';
import { addClip } from '../app/jobs/clips.ts';
import { brokenLines, writeClip, writeOrdersCsv, writePictures, yesterdaysOrders } from './samples.ts';
import type { Stage } from './stage.ts';

export const importId = 'orders-export';
export const widthsPx = [160, 320, 640] as const;
export const badMoments = { busyOnceFor: 'H-1007', failTwiceFor: 'H-1003' };
const missingOrder = 'H-0000';
const askedTwice = 'H-1001';
const chunkRows = 500;
const pictures = 8;
export const clipFrames = 30;
export const clipSegments = 3;
/** Probe, poster, segments, their joining, and the page. */
const clipJobs = 4 + clipSegments;
/** Between two customers who order, so that the queues fill and empty as they do in a day. */
const paceMs = 15;
const tenants = ['acme', 'globex', 'initech'] as const;

export interface Expected {
  readonly rows: number;
  readonly brokenRows: number;
  readonly invoices: number;
  readonly thumbnails: number;
  readonly payments: number;
  /** Jobs that end with each outcome, without the runs of the schedule. */
  readonly outcomes: {
    readonly acked: number;
    readonly requeued: number;
    readonly 'dead-lettered': number;
    readonly rejected: number;
    readonly 'skipped-idempotent': number;
  };
}

export function expectations(rows: number): Expected {
  const invoices = 120;
  const payments = 5;
  const thumbnails = pictures * widthsPx.length;
  const chunks = Math.ceil((rows + brokenLines.length) / chunkRows);
  return {
    rows,
    brokenRows: brokenLines.length,
    invoices,
    thumbnails,
    payments,
    outcomes: {
      acked: 2 + chunks + invoices * 3 + thumbnails + payments + clipJobs, // the import has a report; an invoice is drawn, mailed and announced
      requeued: 3, // the gateway fails twice, the partner is busy once
      'dead-lettered': 1, // an invoice for an order that does not exist
      rejected: 1, // a message somebody wrote without the key
      'skipped-idempotent': 1, // a mail that was asked for twice
    },
  };
}

export interface Samples {
  /** Names of the pictures. */
  readonly files: readonly string[];
  readonly clip: string;
}

/** Makes the files and orders that the jobs work on. */
export async function prepareSamples({ folder, services }: Stage, expected: Expected): Promise<Samples> {
  const orders = yesterdaysOrders(expected.invoices);
  services.db.saveBatch({ importId: 'yesterday', tenantId: 'acme', rows: orders, refused: [] });
  const [files, clip] = await Promise.all([
    writePictures(folder, pictures),
    writeClip(folder, clipFrames),
    writeOrdersCsv(join(folder, 'orders.csv'), expected.rows),
  ]);
  return { files, clip };
}

export interface Script {
  readonly expected: Expected;
  readonly files: readonly string[];
  /** `undefined` = none is uploaded. */
  readonly clip?: string;
  /** Aborted: nothing more is sent. */
  readonly signal: AbortSignal;
}

/** What a web app would do over a day, in two seconds. */
export async function sendEverything(
  client: Client,
  { jobs }: ExampleApp,
  { expected, files, clip, signal }: Script,
): Promise<void> {
  askAgainOnceMailed(client, jobs, expected);
  const acme = { tenantId: 'acme', actorId: 'ada', requestId: 'req-1' };
  await client.enqueue(jobs.importOrders, { importId, file: 'orders.csv', chunkRows }, { context: acme });
  if (clip) await withContext({ tenantId: 'globex' }, () => addClip(client, jobs, clip));
  const sizes = files.flatMap((file) => widthsPx.map((widthPx) => ({ file, widthPx })));
  await client.enqueueMany(jobs.thumbnail, sizes, { context: { tenantId: 'globex' } });
  const orderNos = yesterdaysOrders(expected.invoices).map((order) => order.orderNo);
  for (const [i, orderNo] of orderNos.entries()) {
    if (signal.aborted) return;
    await sleep(paceMs);
    const tenantId = tenants[i % tenants.length]!;
    // As a web app's middleware does it: everything enqueued inside carries the tenant, jobs of jobs included.
    await withContext({ tenantId, requestId: `req-${i + 2}` }, async () => {
      await client.enqueue(jobs.renderInvoice, { orderNo });
      if (i < expected.payments) await client.enqueue(jobs.capturePayment, { orderNo });
    });
  }
  await client.enqueue(jobs.renderInvoice, { orderNo: missingOrder }, { context: acme });
  await forge(client);
}

/** When all mails are out, somebody presses "send my invoice" once more: same key, so it is delivered and not run. */
function askAgainOnceMailed(client: Client, { mailInvoice }: ExampleApp['jobs'], expected: Expected): void {
  let mailed = 0;
  // Keys are kept per tenant, so it is asked in the name of the tenant whose order it is.
  const index = yesterdaysOrders(expected.invoices).findIndex(({ orderNo }) => orderNo === askedTwice);
  const context = { tenantId: tenants[index % tenants.length]! };
  const off = client.app.events.on((event) => {
    if (event.type !== 'job.settled' || event.job !== mailInvoice.name || event.outcome !== 'acked') return;
    if (++mailed < expected.invoices) return;
    off();
    client.enqueue(mailInvoice, { orderNo: askedTwice }, { context }).catch(() => {}); // the proof at the end tells what is missing
  });
}

/** Somebody who can write to the queue but has no key tries to have an invoice drawn. */
async function forge(client: Client): Promise<void> {
  const id = client.app.newId();
  const body = JSON.stringify({
    v: 1,
    job: 'invoice.render',
    payload: { orderNo: askedTwice },
    identifier: id,
  });
  const message = {
    id,
    queue: 'default',
    job: 'invoice.render',
    body,
    priority: 5,
    notBefore: null,
    group: null,
    tenantId: null,
  };
  await client.backend.enqueue([message]);
}
