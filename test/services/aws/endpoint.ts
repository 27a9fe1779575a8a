/**
 * Where the SQS of these tests is: fauxqs with AWS's FIFO rules in this process, whose time the tests own, or whatever SQS_ENDPOINT names
 * (LocalStack, ElasticMQ), where time is real. Never the cloud, unless LONGSHORE_ALLOW_AWS=1 says so.
 */

import { CreateQueueCommand, DeleteQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { startStrictSqs } from '../../kit/servers/strict-sqs.ts';

export interface Endpoint {
  readonly url: string;
  readonly client: SQSClient;
  /** Whether time is ours: fauxqs reads `Date.now()` of this process. */
  readonly virtual: boolean;
  createQueue(name: string, attributes?: Record<string, string>): Promise<string>;
  deleteQueue(url: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * For tests in which hours pass: `it.runIf(timeIsOurs)`. On a server with a clock of its own vitest lists them as skipped;
 * everything else runs there unchanged.
 */
export const timeIsOurs = !process.env.SQS_ENDPOINT;

/** Throws unless `url` is on this machine, or the cloud was asked for by name. */
export function refuseRemote(url: string, forced = process.env.LONGSHORE_ALLOW_AWS === '1'): void {
  const { hostname } = new URL(url);
  const local =
    hostname === 'localhost' || hostname.endsWith('.localhost') || /^(127\.|\[::1\]$)/.test(hostname);
  if (local || forced) return;
  throw new Error(
    `Expected SQS_ENDPOINT to be on this machine, got ${hostname}: these tests make, fill and delete queues. Set LONGSHORE_ALLOW_AWS=1 if you mean it.`,
  );
}

export async function openEndpoint(): Promise<Endpoint> {
  const given = process.env.SQS_ENDPOINT;
  if (given) refuseRemote(given);
  const server = given ? null : await startStrictSqs();
  const url = given ?? server!.url;
  // What the SDK would otherwise look for in the environment, where it could find somebody's real account.
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const own = process.env.LONGSHORE_ALLOW_AWS === '1' ? {} : { credentials, region: 'us-east-1' };
  const client = new SQSClient({ endpoint: url, useQueueUrlAsEndpoint: false, ...own });
  return {
    url,
    client,
    virtual: server !== null,
    async createQueue(QueueName, Attributes = {}) {
      const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName, Attributes }));
      return QueueUrl!;
    },
    async deleteQueue(QueueUrl) {
      await client.send(new DeleteQueueCommand({ QueueUrl }));
    },
    async stop() {
      client.destroy();
      await server?.stop();
    },
  };
}
