/**
 * The example shop for the `longshore` command, on the queue of `npm run dev`:
 * `npx longshore status --config examples/longshore.config.ts`. LONGSHORE_BACKEND chooses another queue, LONGSHORE_STORE
 * where the records are when the queue keeps none.
 */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DeploymentConfig } from '../local/package/options.ts';
import { createExampleApp } from './app/app.ts';
import { createServices } from './app/services.ts';
import { lanes } from './aws/lanes.ts';
import type { Surroundings } from './aws/simulation.ts';
import type { Surroundings as FunctionsSurroundings } from './azure/simulation.ts';
import { exampleBackend } from './config.ts';
import { exampleStore } from './store.ts';

const home = resolve(import.meta.dirname, '../.longshore');
const { SMTP_URL, WEBHOOK_URL, PAYMENT_URL } = process.env;
mkdirSync(join(home, 'dev'), { recursive: true });

export const { app } = createExampleApp(
  createServices({
    folder: join(home, 'dev'),
    smtpUrl: SMTP_URL ?? 'smtp://127.0.0.1:2525',
    webhookUrl: WEBHOOK_URL ?? 'http://127.0.0.1:2580/webhook',
    paymentUrl: PAYMENT_URL ?? 'http://127.0.0.1:2580/payments',
  }),
);

const options = { path: join(home, 'dev.db') };
let opened: ReturnType<typeof exampleStore> | undefined;
export const store = () => (opened ??= exampleStore(options));
export const backend = async () => exampleBackend(app, { ...options, keys: (await store())?.keys });

/** For `longshore package`: what the queues, jobs and schedules of the app do not say. */
export const deployment: DeploymentConfig = {
  name: 'longshore-example',
  installed: ['sharp', 'pdfkit'],
  aws: {
    entry: 'aws/main.ts',
    lanes,
    environment: {
      SHOP_DATABASE_URL: 'secret',
      SHOP_BUCKET: 'bucket',
      SMTP_URL: 'secret',
      WEBHOOK_URL: 'parameter',
      PAYMENT_URL: 'parameter',
    },
    functions: {
      worker: { sendsTo: [] }, // its jobs enqueue into its own queues
      // Jobs of ten minutes have a function of their own, so that the others are retried soon when theirs has died.
      importer: {
        queues: ['import'],
        environment: { SHOP_DATABASE_URL: 'secret', SHOP_BUCKET: 'bucket to read' },
        sendsTo: ['default'], // the callback of an import's batch
        usesInstalled: false,
      },
      schedule: { environment: {} },
      enqueue: { environment: { API_KEY: 'secret' } },
    },
  },
  azure: {
    entry: 'azure/main.ts',
    containers: ['claims', 'shop'], // large payloads, and the shop's files
    environment: {
      DATABASE_URL: 'optional secret', // keeps the state of jobs in a Postgres, instead of the table
      SHOP_DATABASE_URL: 'secret',
      API_KEY: 'secret',
      SMTP_URL: 'secret',
      WEBHOOK_URL: 'parameter',
      PAYMENT_URL: 'parameter',
    },
  },
};

/** For `longshore simulate lambda` and `longshore simulate functions`: the shop's functions, and some customers. */
export const simulation = {
  entry: 'aws/main.ts',
  recursiveLoop: 'Allow',
  lanes,
  start: async (where: Surroundings) => (await import('./aws/simulation.ts')).startShop(where),
  functions: {
    entry: 'azure/main.ts',
    start: async (where: FunctionsSurroundings) => (await import('./azure/simulation.ts')).startShop(where),
  },
};
