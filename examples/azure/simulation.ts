/**
 * What stands around the shop's function app in `longshore simulate functions`: its mail server and partners, and customers
 * who order.
 */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { connect } from '../../core/index.ts';
import { serviceBus } from '../../functions/azure/index.ts';
import { memoryStore } from '../../local/backends/memory/index.ts';
import { createExampleApp } from '../app/app.ts';
import { setStage } from '../demo/stage.ts';
import { badMoments, expectations, prepareSamples, sendEverything } from '../demo/story.ts';

export interface Surroundings {
  readonly folder: string;
  readonly connectionString: string;
}

const rows = 2_000;
const invoices = 20;

export async function startShop({ folder, connectionString }: Surroundings) {
  // The app keeps the shop in `shop` of the temporary folder, which this one is then.
  const stage = await setStage(join(folder, 'shop'), { ...badMoments, failTwiceFor: '' }); // that takes half a minute
  const { services } = stage;
  const example = createExampleApp(services);
  const { queues } = example.app;
  const client = connect(example.app, serviceBus({ connectionString, queues }), { store: memoryStore() });
  return {
    env: {
      TMPDIR: folder,
      DATABASE_URL: process.env.DATABASE_URL || 'memory',
      SMTP_URL: stage.mailbox.url,
      WEBHOOK_URL: services.webhookUrl,
      PAYMENT_URL: services.paymentUrl,
      API_KEY: process.env.API_KEY || randomBytes(32).toString('hex'),
    },
    async play(signal: AbortSignal) {
      const expected = { ...expectations(rows), invoices };
      const files = await prepareSamples(stage, expected);
      await sendEverything(client, example, { expected, files, signal });
    },
    async stop() {
      await client.close();
      await stage.close();
    },
  };
}
