import { GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import type { Clock } from '../../../core/base/clock.ts';
import { connect } from '../../../core/index.ts';
import { lambda, sqs } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller, type Poller } from '../../../local/simulate/lambda/poller.ts';
import { describeEntrypoint, type EntrypointHarness } from '../../testing/laws/entrypoint.ts';
import { minute, queues } from '../../testing/laws/kit.ts';
import { type Endpoint, openEndpoint, timeIsOurs } from './endpoint.ts';
import { realTime, type Time, virtualTime } from './time.ts';

let endpoint: Endpoint;
let time: Time;
let count = 0;

beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(async () => {
  vi.useRealTimers();
  await endpoint.stop();
});

const visibilityMs = 6 * minute;

const harness: EntrypointHarness = {
  timeIsOurs,
  visibilityMs,
  clock(): Clock {
    time = endpoint.virtual ? virtualTime() : realTime;
    return time.clock;
  },
  async open(app, { concurrency = 10 }) {
    const prefix = `w${process.pid}-${++count}-`;
    const { client } = endpoint;
    const { clock, advance } = time;
    const urls: Record<string, string> = {};
    for (const queue of queues) {
      urls[queue] = await endpoint.createQueue(`${prefix}${queue}`, {
        VisibilityTimeout: String(visibilityMs / 1000),
      });
      urls[`${queue}-dlq`] = await endpoint.createQueue(`${prefix}${queue}-dlq`);
    }
    const backend = sqs({ queueUrl: urls.mail!.slice(0, -'mail'.length), client, clock });
    const store = memoryStore({ clock });
    const { worker } = lambda(app, { backend, store, concurrency, log: false });
    const pollers = new Map<string, Poller>();
    for (const queue of queues) {
      const command = new GetQueueAttributesCommand({ QueueUrl: urls[queue], AttributeNames: ['QueueArn'] });
      const arn = (await client.send(command)).Attributes!.QueueArn!;
      pollers.set(
        queue,
        createPoller({ client, url: urls[queue]!, arn, clock, batchSize: 10, invoke: worker }),
      );
    }
    return {
      client: connect(app, backend, { store }),
      deliver: (queue, timeoutMs) => pollers.get(queue)!.poll(timeoutMs),
      async lose(queue) {
        await pollers.get(queue)!.receive(); // and does not call, as when the function is throttled
      },
      call: (event) => worker(event, { awsRequestId: 'none', getRemainingTimeInMillis: () => minute }),
      async write(queue, MessageBody) {
        await client.send(new SendMessageCommand({ QueueUrl: urls[queue], MessageBody }));
      },
      advance,
      deadLetters: () => backend.admin!.deadLetters.list({}),
      async breakDeadLetters() {
        await endpoint.deleteQueue(urls['mail-dlq']!);
        return async () => void (await endpoint.createQueue(`${prefix}mail-dlq`));
      },
      async close() {
        await backend.close();
        for (const url of Object.values(urls)) await endpoint.deleteQueue(url);
        vi.useRealTimers();
      },
    };
  },
};

describeEntrypoint('the SQS worker of lambda()', harness, { describe, it });
