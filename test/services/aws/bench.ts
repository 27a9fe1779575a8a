/** One SQS backend with fresh queues, for tests that look closer than the laws do. */

import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import type { JobLease, OutgoingMessage } from '../../../core/contract/queue.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { type SqsBackend, type SqsOptions, sqs } from '../../../functions/aws/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createPoller, type Poller } from '../../../local/simulate/lambda/poller.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';
import { realTime, type Time, virtualTime } from './time.ts';

export interface SqsBench {
  readonly backend: SqsBackend;
  readonly time: Time;
  readonly url: string;
  readonly deadLetterUrl: string;
  readonly arn: string;
  readonly deadLetterArn: string;
  /** That of a FIFO queue. */
  readonly keys: KeyStore;
  /** Requests so far, by the name of their command. */
  readonly requests: Map<string, number>;
  message(change?: Partial<OutgoingMessage>): OutgoingMessage;
  fetch(max?: number, leaseMs?: number): Promise<JobLease[]>;
  /** Takes up to ten messages from the queue, and invokes a function with them as Lambda does. */
  poller(invoke: Parameters<typeof createPoller>[0]['invoke']): Poller;
  close(): Promise<void>;
}

export interface BenchOptions extends Partial<SqsOptions> {
  readonly fifo?: boolean;
  /** Attributes of the queue. */
  readonly attributes?: Record<string, string>;
}

/** One endpoint for the tests of a file, called at its top. Each test's bench is closed after it. */
export function benchesHere() {
  let endpoint: Endpoint;
  let opened: SqsBench[] = [];
  beforeAll(async () => {
    endpoint = await openEndpoint();
  });
  afterEach(async () => {
    for (const bench of opened) await bench.close();
    opened = [];
  });
  afterAll(async () => {
    vi.useRealTimers();
    await endpoint.stop();
  });
  return {
    get endpoint(): Endpoint {
      return endpoint;
    },
    async open(options?: BenchOptions): Promise<SqsBench> {
      const bench = await openBench(endpoint, options);
      opened.push(bench);
      return bench;
    },
  };
}

export async function openBench(
  endpoint: Endpoint,
  { fifo = false, attributes = {}, ...options }: BenchOptions = {},
): Promise<SqsBench> {
  const time = endpoint.virtual ? virtualTime() : realTime;
  const { clock } = time;
  const series = `b${process.pid}-${Math.floor(Math.random() * 1e9).toString(36)}`;
  const [end, kind] = fifo ? ['.fifo', { FifoQueue: 'true' }] : ['', {}];
  const deadLetterUrl = await endpoint.createQueue(`${series}-dlq${end}`, kind);
  const url = await endpoint.createQueue(`${series}${end}`, { ...kind, ...attributes });
  const { client } = endpoint;
  const arnOf = async (QueueUrl: string) => {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] });
    return (await client.send(command)).Attributes!.QueueArn!;
  };
  const arn = await arnOf(url);
  const deadLetterArn = await arnOf(deadLetterUrl);
  const requests = new Map<string, number>();
  client.middlewareStack.add(
    (next, context) => (args) => {
      const name = context.commandName ?? '';
      requests.set(name, (requests.get(name) ?? 0) + 1);
      return next(args);
    },
    { step: 'initialize', name: `count-${series}` },
  );
  const { keys } = memory({ clock }).stores!;
  const backend = sqs({
    queues: { mail: url },
    client,
    clock,
    longPollMs: 1_000,
    ...(fifo && { keys }),
    ...options,
  });
  let count = 0;
  return {
    backend,
    time,
    url,
    deadLetterUrl,
    arn,
    deadLetterArn,
    keys,
    requests,
    message(change = {}) {
      const id = `${series}-${++count}`;
      const rest = {
        queue: 'mail',
        job: 'invoice.send',
        priority: 5,
        notBefore: null,
        group: null,
        tenantId: null,
      };
      return { id, body: `{"n":${count}}`, ...rest, ...change };
    },
    fetch: (max = 10, leaseMs = 60_000) => backend.fetch({ queues: ['mail'], max, leaseMs, waitMs: 0 }),
    poller: (invoke) => createPoller({ client, url, arn, clock, batchSize: 10, invoke }),
    async close() {
      await backend.close();
      client.middlewareStack.remove(`count-${series}`);
      await endpoint.deleteQueue(url);
      await endpoint.deleteQueue(deadLetterUrl).catch(() => {}); // some tests do without
      vi.useRealTimers();
    },
  };
}
