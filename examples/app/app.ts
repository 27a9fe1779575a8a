/** A small shop's background work. Nothing here knows where it runs: no cloud, no queue, no connection. */

import { createApp, defineSchedule, exponential, type RetryPolicy } from '../../core/index.ts';
import { clipJobs } from './jobs/clips.ts';
import { importChunkJob, importOrdersJob, importReportJob } from './jobs/import-orders.ts';
import { mailInvoiceJob, renderInvoiceJob } from './jobs/invoices.ts';
import { nightlyReportJob } from './jobs/nightly-report.ts';
import { capturePaymentJob } from './jobs/payment.ts';
import { type SignUpTimes, signUpJob } from './jobs/sign-up.ts';
import { tenantReportJob } from './jobs/tenant-report.ts';
import { thumbnailJob } from './jobs/thumbnail.ts';
import { callWebhookJob } from './jobs/webhook.ts';
import type { Services } from './services.ts';

export interface ExampleOptions {
  /** When the sales report is made, Berlin time. @default '0 2 * * *' */
  readonly nightlyCron?: string;
  /** @default exponential({ baseMs: 10_000 }) */
  readonly paymentRetry?: RetryPolicy;
  /** @default three days for the confirmation, tips a day after it */
  readonly signUpTimes?: SignUpTimes;
}

export type ExampleApp = ReturnType<typeof createExampleApp>;

export function createExampleApp(services: Services, options: ExampleOptions = {}) {
  const {
    nightlyCron = '0 2 * * *',
    paymentRetry = exponential({ baseMs: 10_000 }),
    signUpTimes = { confirmWithin: '3d', tipsAfter: '1d' },
  } = options;
  const importChunk = importChunkJob(services);
  const importReport = importReportJob(services);
  const importOrders = importOrdersJob(services, importChunk, importReport);
  const callWebhook = callWebhookJob(services);
  const mailInvoice = mailInvoiceJob(services, callWebhook);
  const renderInvoice = renderInvoiceJob(services, mailInvoice);
  const capturePayment = capturePaymentJob(services, paymentRetry);
  const thumbnail = thumbnailJob(services);
  const nightlyReport = nightlyReportJob(services);
  const jobs = {
    importOrders,
    importChunk,
    importReport,
    renderInvoice,
    mailInvoice,
    callWebhook,
    capturePayment,
    thumbnail,
    nightlyReport,
    tenantReport: tenantReportJob(services),
    signUp: signUpJob(services, signUpTimes),
    ...clipJobs(services),
  };
  const app = createApp({
    jobs: Object.values(jobs),
    schedules: [
      defineSchedule({
        name: 'nightly-report',
        cron: nightlyCron,
        timezone: 'Europe/Berlin',
        job: nightlyReport,
        payload: {},
        overlap: 'skip',
      }),
    ],
  });
  return { app, jobs };
}
