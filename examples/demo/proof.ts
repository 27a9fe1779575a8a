/** Looks for the effects themselves, on disk, in the database and in the mailbox: events alone prove nothing. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Contract } from '../../core/index.ts';
import type { Stage } from './stage.ts';
import { clipFrames, type Expected, importId, widthsPx } from './story.ts';
import type { Tally } from './tally.ts';

export interface Finding {
  readonly what: string;
  readonly expected: number;
  readonly found: number;
  /** More than expected is fine too (what a schedule does depends on how long the demo runs). */
  readonly atLeast?: boolean;
}

export interface Proof {
  readonly findings: readonly Finding[];
  readonly files: number;
  readonly mails: number;
  readonly webhooks: number;
  readonly rows: number;
  /** Jobs that are still in the queue, ready or delayed. */
  readonly waiting: number;
}

export const holds = ({ expected, found, atLeast }: Finding): boolean =>
  atLeast ? found >= expected : found === expected;

export async function prove(
  stage: Stage,
  backend: Contract.QueueBackend,
  expected: Expected,
  tally: Tally,
): Promise<Proof> {
  const { folder, services, mailbox, outside } = stage;
  const { db } = services;
  const rows = db.countOrders(importId);
  const invoices = await countPdfs(join(folder, 'invoices'));
  const thumbnails = await countThumbnails(join(folder, 'thumbnails'));
  const reportFiles = await readdir(join(folder, 'reports'));
  const salesReports = reportFiles.filter((name) => name === 'sales.csv').length;
  const { mails } = mailbox;
  const attached = mails.filter(
    ({ messageId, attachment }) =>
      attachment?.isPdf &&
      messageId === `<invoice-${attachment.filename.replace('.pdf', '')}@harbour.example>`,
  );
  const told = new Set(outside.webhooks);
  const paid = outside.payments.filter((orderNo) => db.isPaid(orderNo));
  const wanted = expected.outcomes;
  const { outcomes } = tally;
  const reports = tally.ended('report.nightly');
  const stats = (await backend.admin?.stats()) ?? [];
  const dead = (await backend.admin?.deadLetters.list({})) ?? [];
  const deadWith = (reason: string) => dead.filter((letter) => letter.reason === reason).length;
  const findings: Finding[] = [
    { what: 'orders imported from the CSV file', expected: expected.rows, found: rows },
    {
      what: 'broken rows refused, each with line and reason',
      expected: expected.brokenRows,
      found: db.importTotals(importId).refused,
    },
    {
      what: 'report of the import, with its numbers',
      expected: 1,
      found: await countImportReports(folder, expected),
    },
    { what: 'invoices on disk that are PDF files', expected: expected.invoices, found: invoices },
    { what: 'mails received, invoice attached', expected: expected.invoices, found: attached.length },
    { what: 'mails received in all (nobody got two)', expected: expected.invoices, found: mails.length },
    { what: 'webhook calls, one per invoice', expected: expected.invoices, found: told.size },
    { what: 'thumbnails of the right size', expected: expected.thumbnails, found: thumbnails },
    {
      what: 'frames of the clip, joined from its segments',
      expected: clipFrames,
      found: await countFrames(folder),
    },
    {
      what: 'payments captured, one at the third attempt',
      expected: expected.payments,
      found: new Set(paid).size,
    },
    { what: 'nightly reports made by the schedule', expected: 1, found: reports, atLeast: true },
    { what: 'sales report on disk', expected: 1, found: salesReports },
    { what: 'jobs acked', expected: wanted.acked + reports, found: outcomes.acked },
    { what: 'attempts requeued for a later retry', expected: wanted.requeued, found: outcomes.requeued },
    { what: 'dead letters, no such order', expected: wanted['dead-lettered'], found: deadWith('permanent') },
    { what: 'dead letters, forged message', expected: wanted.rejected, found: deadWith('rejected') },
    {
      what: 'second deliveries skipped',
      expected: wanted['skipped-idempotent'],
      found: outcomes['skipped-idempotent'],
    },
  ];
  return {
    findings,
    files: invoices + thumbnails + reportFiles.length,
    mails: mails.length,
    webhooks: outside.webhooks.length,
    rows,
    waiting: stats.reduce((sum, { ready, delayed }) => sum + ready + delayed, 0),
  };
}

/** One, when it says what was in the file. */
async function countImportReports(folder: string, { rows, brokenRows }: Expected): Promise<number> {
  const text = await readFile(join(folder, `reports/import-${importId}.json`), 'utf8').catch(() => '{}');
  const { imported, refused, problems } = JSON.parse(text);
  return imported === rows && refused === brokenRows && problems.length === brokenRows ? 1 : 0;
}

async function countPdfs(folder: string): Promise<number> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.pdf'));
  const heads = await Promise.all(files.map((name) => readFile(join(folder, name))));
  return heads.filter((bytes) => bytes.subarray(0, 4).toString('latin1') === '%PDF').length;
}

/** Of the clip that the page shows. */
async function countFrames(folder: string): Promise<number> {
  const page = await readFile(join(folder, 'clips/harbour-small.webp.json'), 'utf8').catch(() => null);
  if (page === null) return 0;
  const { pages = 1 } = await sharp(join(folder, JSON.parse(page).clip.file)).metadata();
  return pages;
}

/** The name says how wide a picture should be; all are 16:10. */
async function countThumbnails(folder: string): Promise<number> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.webp'));
  const right = await Promise.all(
    files.map(async (name) => {
      const { width, height, format } = await sharp(join(folder, name)).metadata();
      const asked = Number(/-(\d+)\.webp$/.exec(name)?.[1]);
      const known = widthsPx.some((widthPx) => widthPx === asked);
      return known && format === 'webp' && width === asked && height === (asked * 10) / 16;
    }),
  );
  return right.filter(Boolean).length;
}
