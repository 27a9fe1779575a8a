/** A DynamoDB of the tests' own (dynalite): real requests of the real SDK, over loopback, gone with the test file. */

import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';

export interface DynamoServer {
  readonly endpoint: string;
  close(): Promise<void>;
}

type Dynalite = (options: { createTableMs: number; deleteTableMs: number }) => Server;

export async function startDynamo(): Promise<DynamoServer> {
  const dynalite = createRequire(import.meta.url)('dynalite') as Dynalite; // it has no types
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0 });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
