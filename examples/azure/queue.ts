/** Service Bus for the demo and for development: always one on this machine. */

import { type RetryOptions, ServiceBusClient } from '@azure/service-bus';
import { isOnThisMachine } from '../../core/base/loopback.ts';
import type { KeyStore } from '../../core/contract/store.ts';
import { type App, type Contract, LongshoreError } from '../../core/index.ts';
import { serviceBus } from '../../functions/azure/index.ts';
import { createAppQueues, startServiceBus } from '../../local/simulate/service-bus/server.ts';

export interface LocalQueueOptions {
  /** Of `longshore emulate servicebus`; `undefined` = one in this process. */
  readonly connectionString: string | undefined;
  readonly keys: KeyStore | undefined;
  /** Whether to empty the queues. */
  readonly fresh: boolean;
}

/** Throws `CONFIG` for a Service Bus elsewhere, and for one that lacks a queue of the app. */
export async function localServiceBus(app: App, options: LocalQueueOptions): Promise<Contract.QueueBackend> {
  const { connectionString: given, keys, fresh } = options;
  const { queues } = app;
  if (given !== undefined && !isOnThisMachine(endpointIn(given))) {
    throw new LongshoreError(
      'CONFIG',
      'Expected SERVICEBUS_CONNECTION_STRING to be a Service Bus on this machine, got another one. The example fills and empties its queues. Start one with npx longshore emulate servicebus.',
    );
  }
  const server = given === undefined ? await startServiceBus() : null;
  if (server) createAppQueues(server, queues);
  const connectionString = given ?? server!.connectionString;
  const backend = serviceBus({ connectionString, queues, longPollMs: 1_000, ...(keys && { keys }) });
  try {
    if (given !== undefined) await backend.check();
    if (given !== undefined && fresh) await empty(backend, connectionString, queues);
  } catch (error) {
    await backend.close();
    throw error;
  }
  return {
    ...backend,
    async close() {
      await backend.close();
      await server?.stop();
    },
  };
}

const endpointIn = (connectionString: string): string =>
  (/(?:^|;)\s*Endpoint=sb:\/\/([^;/]+)/i.exec(connectionString)?.[1] ?? '').replace(/^/, 'http://');

const lookMs = 100;

/** serviceBus() itself refuses to clear: a listing does not say which messages are running. Here none is. */
async function empty(
  { admin }: Contract.QueueBackend,
  connectionString: string,
  queues: readonly string[],
): Promise<void> {
  const retryOptions: RetryOptions = { maxRetries: 1, timeoutInMs: 5_000 };
  const client = new ServiceBusClient(connectionString, { retryOptions });
  try {
    await Promise.all(queues.map((queue) => emptyQueue(client, queue)));
  } finally {
    await client.close();
  }
  const { deadLetters } = admin!;
  for (;;) {
    const dead = await deadLetters.list({ max: 500 });
    if ((await deadLetters.discard(dead.map(({ id }) => id))) === 0) return;
  }
}

async function emptyQueue(client: ServiceBusClient, queue: string): Promise<void> {
  const [receiver, sender] = [
    client.createReceiver(queue, { receiveMode: 'receiveAndDelete' }),
    client.createSender(queue),
  ];
  while ((await receiver.receiveMessages(500, { maxWaitTimeInMs: lookMs })).length > 0);
  for (;;) {
    const left = await receiver.peekMessages(250);
    const scheduled = left.flatMap(({ state, sequenceNumber }) =>
      state === 'scheduled' && sequenceNumber ? [sequenceNumber] : [],
    );
    if (scheduled.length === 0) return;
    await sender.cancelScheduledMessages(scheduled);
  }
}
