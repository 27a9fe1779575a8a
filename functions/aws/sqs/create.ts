/** Creates queues for development on a local endpoint. In the cloud a template creates them. */

import { checkQueue } from '../../../core/base/checks.ts';
import { config, shown } from '../../../core/base/errors.ts';
import { isOnThisMachine } from '../../../core/base/loopback.ts';
import type { SdkClient } from '../sdk-client.ts';
import { createConnection } from './connection.ts';

export interface SqsQueuesOptions {
  /** An endpoint on this machine: `http://127.0.0.1:4566`. */
  readonly endpoint: string;
  /** Names of the app's queues, such as `app.queues`. */
  readonly queues: readonly string[];
  /** Prefix of every name. @default 'longshore-' */
  readonly prefix?: string;
  /** Whether to remove existing messages. @default false */
  readonly empty?: boolean;
  readonly region?: string;
  /** An `SQSClient` to use instead of a new one; it stays open. */
  readonly client?: SdkClient;
}

/**
 * Creates missing queues, each with its dead-letter queue (`<name>-dlq`). The result is for `sqs({ queues })`.
 * Throws `CONFIG` for an endpoint that is not on this machine.
 */
export async function createSqsQueues(options: SqsQueuesOptions): Promise<Record<string, string>> {
  const { endpoint, queues, prefix = 'longshore-', empty = false, region, client } = options;
  if (typeof endpoint !== 'string' || !isOnThisMachine(endpoint)) {
    throw config(
      `createSqsQueues() expects an endpoint on this machine like http://127.0.0.1:4566, got ${shown(endpoint)}. In the cloud let a template make the queues: see docs/aws.md.`,
    );
  }
  for (const name of queues) checkQueue(name);
  const connection = createConnection({
    endpoint,
    queueUrl: new URL(`/000000000000/${prefix}`, endpoint).href,
    ...(region !== undefined && { region }),
    ...(client !== undefined && { client }),
  });
  try {
    const made = queues.map(async (name) => {
      const own = `${prefix}${name}`;
      const url = await connection.call(`creating queue "${own}"`, async (api) => {
        const urls = [await api.create(own), await api.create(`${own}-dlq`)];
        if (empty) for (const one of urls) await api.purge(one);
        return urls[0]!;
      });
      return [name, url] as const;
    });
    return Object.fromEntries(await Promise.all(made));
  } finally {
    await connection.close();
  }
}
