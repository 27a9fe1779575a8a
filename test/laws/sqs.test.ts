import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { sqs } from '../../functions/aws/sqs/index.ts';
import { memoryStore } from '../../local/backends/memory/store.ts';
import { type Endpoint, openEndpoint, timeIsOurs } from '../services/aws/endpoint.ts';
import { realTime, virtualTime } from '../services/aws/time.ts';
import { describeBackend } from '../testing/laws/backend.ts';
import type { Harness, Lack } from '../testing/laws/harness.ts';
import { queues } from '../testing/laws/kit.ts';

let endpoint: Endpoint;
let count = 0;

beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(async () => {
  vi.useRealTimers();
  await endpoint.stop();
});

const lacks: readonly Lack[] = [
  'groups',
  'order',
  'duplicates',
  'waking',
  'administration',
  'transfer',
  'interruptions',
  'settled elsewhere',
  'waiting jobs',
];

const harnessOf = (fifo: boolean): Harness => ({
  lacks: fifo ? [...lacks, 'delays'] : lacks,
  timeIsOurs,
  ...(!timeIsOurs && { patienceMs: 2_000 }),
  async open() {
    const prefix = `t${process.pid}-${++count}-`;
    const [end, kind] = fifo ? ['.fifo', { FifoQueue: 'true' }] : ['', {}];
    const urls: Record<string, string> = {};
    const deadLetterUrls: Record<string, string> = {};
    for (const queue of queues) {
      urls[queue] = await endpoint.createQueue(`${prefix}${queue}${end}`, kind);
      deadLetterUrls[queue] = await endpoint.createQueue(`${prefix}${queue}-dlq${end}`, kind);
    }
    const time = endpoint.virtual ? virtualTime() : realTime;
    const { clock } = time;
    const options = {
      queues: urls,
      deadLetterUrls,
      client: endpoint.client,
      longPollMs: 1_000,
      clock,
      ...(fifo && { keys: memoryStore({ clock }).keys }),
    };
    const backend = sqs(options);
    const peer = sqs(options);
    return {
      backend,
      peer,
      now: clock.now,
      advance: time.advance,
      async close() {
        await backend.close();
        await peer.close();
        for (const url of Object.values({ ...urls, ...deadLetterUrls })) await endpoint.deleteQueue(url);
        vi.useRealTimers();
      },
    };
  },
});

describeBackend('sqs()', harnessOf(false), { describe, it });
describeBackend('sqs() with FIFO queues', harnessOf(true), { describe, it });
