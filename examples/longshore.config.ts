/**
 * The example shop for the `longshore` command, on the queue of `npm run dev`:
 * `npx longshore status --config examples/longshore.config.ts`. LONGSHORE_BACKEND chooses another queue, LONGSHORE_STORE
 * where the records are when the queue keeps none.
 */

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
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

/** For `longshore simulate lambda` and `longshore simulate functions`: the shop's functions, and some customers. */
export const simulation = {
  entry: 'aws/main.ts',
  recursiveLoop: 'Allow',
  lanes,
  build: async (folder: string) => (await import('./aws/simulation.ts')).buildShop(folder),
  start: async (where: Surroundings) => (await import('./aws/simulation.ts')).startShop(where),
  functions: {
    entry: 'azure/main.ts',
    start: async (where: FunctionsSurroundings) => (await import('./azure/simulation.ts')).startShop(where),
  },
};
