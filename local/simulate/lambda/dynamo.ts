/** A DynamoDB for the functions, with the table of `dynamoStore()`. */

import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { tableProperties } from '../../package/aws/table.ts';

interface Endpoint {
  readonly url: string;
  stop(): Promise<unknown>;
}

export interface LocalDynamo extends Endpoint {
  readonly table: string;
}

/**
 * Rejects with `ERR_MODULE_NOT_FOUND` without an endpoint, if dynalite is not installed.
 * @param endpoint of a DynamoDB on this machine; `null` = a dynalite in this process
 */
export async function openDynamo(
  table: string,
  endpoint: string | null,
  access: object,
): Promise<LocalDynamo> {
  const server = endpoint === null ? await startDynalite() : { url: endpoint, stop: async () => {} };
  const client = new DynamoDBClient({ ...access, endpoint: server.url });
  const { TimeToLiveSpecification: _, ...properties } = structuredClone(tableProperties);
  try {
    await client.send(new CreateTableCommand({ TableName: table, ...properties } as never));
  } catch (error) {
    if ((error as Error).name !== 'ResourceInUseException') throw error;
  } finally {
    client.destroy();
  }
  return { ...server, table };
}

type Dynalite = (options: { createTableMs: number }) => Server;

async function startDynalite(): Promise<Endpoint> {
  const path = fileURLToPath(import.meta.resolve('dynalite'));
  const dynalite = createRequire(import.meta.url)(path) as Dynalite; // it has no types
  const server = dynalite({ createTableMs: 0 });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
