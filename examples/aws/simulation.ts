/**
 * What stands around the shop's functions in `longshore simulate lambda`: its mail server and partners, a DynamoDB, and
 * customers who order.
 */

import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect } from '../../core/index.ts';
import { dynamoStore, sqs } from '../../functions/aws/index.ts';
import { bundleFunction } from '../../infra/aws/bundle.ts';
import { createExampleApp } from '../app/app.ts';
import { setStage } from '../demo/stage.ts';
import { badMoments, expectations, prepareSamples, sendEverything } from '../demo/story.ts';
import { lanes } from './lanes.ts';

export interface Surroundings {
  readonly folder: string;
  readonly sqsEndpoint: string;
  readonly queueUrl: string;
}

const rows = 2_000;
const invoices = 20;

/** As `npm run package:aws` does it. */
export function buildShop(folder: string): Promise<unknown> {
  return bundleFunction(join(import.meta.dirname, 'main.ts'), folder, ['sharp', 'pdfkit']);
}

export async function startShop({ folder, sqsEndpoint, queueUrl }: Surroundings) {
  // The functions keep the shop in `shop` of their temporary folder, which this one is.
  const stage = await setStage(join(folder, 'shop'), { ...badMoments, failTwiceFor: '' }); // that takes half a minute
  const dynamo = process.env.DYNAMODB_ENDPOINT ? null : await startDynamo();
  const dynamoEndpoint = dynamo?.url ?? process.env.DYNAMODB_ENDPOINT!;
  const table = `shop-${Date.now()}`;
  const store = dynamoStore({ table, endpoint: dynamoEndpoint });
  await store.migrate();
  const { services } = stage;
  const example = createExampleApp(services);
  const client = connect(example.app, sqs({ endpoint: sqsEndpoint, queueUrl, lanes }), { store });
  return {
    env: {
      TABLE: table,
      AWS_ENDPOINT_URL_DYNAMODB: dynamoEndpoint,
      SMTP_URL: stage.mailbox.url,
      WEBHOOK_URL: services.webhookUrl,
      PAYMENT_URL: services.paymentUrl,
      API_KEY: randomUUID(),
    },
    async play(signal: AbortSignal) {
      const expected = { ...expectations(rows), invoices };
      const files = await prepareSamples(stage, expected);
      await sendEverything(client, example, { expected, files, signal });
    },
    async stop() {
      await client.close();
      await stage.close();
      await dynamo?.stop();
    },
  };
}

type Dynalite = (options: { createTableMs: number }) => Server;

async function startDynamo(): Promise<{ url: string; stop(): Promise<void> }> {
  const dynalite = createRequire(import.meta.url)('dynalite') as Dynalite; // it has no types
  const server = dynalite({ createTableMs: 0 });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
