/** The services around the shop's functions in `longshore simulate lambda`, with a DynamoDB. */

import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect } from '../../core/index.ts';
import { dynamoStore, sqs } from '../../functions/aws/index.ts';
import { bundleFunction } from '../../infra/aws/bundle.ts';
import { installed } from '../../infra/installed-packages.ts';
import { openShop } from '../demo/simulated.ts';
import { lanes } from './lanes.ts';

export interface Surroundings {
  readonly folder: string;
  readonly sqsEndpoint: string;
  readonly queueUrl: string;
}

/** As `npm run package:aws` builds it. */
export function buildShop(folder: string): Promise<unknown> {
  return bundleFunction(join(import.meta.dirname, 'main.ts'), folder, installed);
}

export async function startShop({ folder, sqsEndpoint, queueUrl }: Surroundings) {
  const dynamo = process.env.DYNAMODB_ENDPOINT ? null : await startDynamo();
  const dynamoEndpoint = dynamo?.url ?? process.env.DYNAMODB_ENDPOINT!;
  const table = `shop-${Date.now()}`;
  const store = dynamoStore({ table, endpoint: dynamoEndpoint });
  await store.migrate();
  const backend = sqs({ endpoint: sqsEndpoint, queueUrl, lanes });
  const shop = await openShop(folder, (app) => connect(app, backend, { store }));
  return {
    ...shop,
    env: { ...shop.env, TABLE: table, AWS_ENDPOINT_URL_DYNAMODB: dynamoEndpoint },
    async stop() {
      await shop.stop();
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
