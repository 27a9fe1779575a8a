/** What stands around the shop in a simulation of either cloud: its mail server and partners, and customers who order. */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { App, Client } from '../../core/index.ts';
import { createExampleApp } from '../app/app.ts';
import { setStage } from './stage.ts';
import { badMoments, expectations, prepareSamples, sendEverything } from './story.ts';

const rows = 2_000;
const invoices = 20;

/**
 * @param folder the functions' temporary one, in which they keep the shop
 * @param connectTo opens the queue for the customers
 */
export async function openShop(folder: string, connectTo: (app: App) => Client) {
  const shopFolder = join(folder, 'shop');
  const stage = await setStage(shopFolder, { ...badMoments, failTwiceFor: '' }); // that takes half a minute
  const { services } = stage;
  const example = createExampleApp(services);
  const client = connectTo(example.app);
  return {
    env: {
      SHOP_FOLDER: shopFolder,
      SMTP_URL: stage.mailbox.url,
      WEBHOOK_URL: services.webhookUrl,
      PAYMENT_URL: services.paymentUrl,
      API_KEY: process.env.API_KEY || randomBytes(32).toString('hex'),
    },
    async play(signal: AbortSignal) {
      const expected = { ...expectations(rows), invoices };
      const { files } = await prepareSamples(stage, expected); // how often a clip asks for its segments depends on the time
      await sendEverything(client, example, { expected, files, signal });
    },
    async stop() {
      await client.close();
      await stage.close();
    },
  };
}
