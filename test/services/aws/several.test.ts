/** A function whose SQS is one of several backends of the app. */

import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, defineSchedule, keyRing } from '../../../core/index.ts';
import { lambda, sqs } from '../../../functions/aws/index.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';

let endpoint: Endpoint;
beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(() => endpoint.stop());

const payload = z.object({ n: z.number() });

async function createBench() {
  const ran: number[] = [];
  const mail = defineJob({ name: 'mail', payload, async handle() {} });
  const thumb = defineJob({
    name: 'thumb',
    backend: 'fast',
    queue: 'thumbs',
    payload,
    async handle({ n }, ctx) {
      ran.push(n);
      await ctx.enqueue(mail, { n });
    },
  });
  const everyMs = 60_000;
  const schedules = [
    defineSchedule({ name: 'mails', everyMs, job: mail, payload: { n: 0 } }),
    defineSchedule({ name: 'thumbs', everyMs, job: thumb, payload: { n: 0 } }),
  ];
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [mail, thumb], schedules, signing });
  const urls: string[] = [];
  for (const name of ['thumbs', 'thumbs-dlq'])
    urls.push(await endpoint.createQueue(`several${process.pid}-${name}`));
  const [url] = urls as [string];
  const { client } = endpoint;
  const fast = sqs({ queueUrl: url.slice(0, -'thumbs'.length), client });
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] });
  const arn = (await client.send(command)).Attributes!.QueueArn!;
  return { app, mail, thumb, ran, fast, url, arn, urls };
}

it('runs the jobs of its own backend, and enqueues and ticks on those that it uses', async () => {
  const { app, thumb, ran, fast, url, arn, urls } = await createBench();
  const store = memoryStore();
  const main = memory();
  const { worker, schedule } = lambda(app, {
    backend: fast,
    store,
    backendName: 'fast',
    otherBackends: { default: main },
    log: false,
  });
  const all = connect(app, { default: main, fast }, { store: { fast: store } });
  const { id } = await all.enqueue(thumb, { n: 7 });
  const poller = createPoller({
    client: endpoint.client,
    url,
    arn,
    clock: app.clock,
    batchSize: 10,
    invoke: worker,
  });
  await poller.poll(60_000);
  expect(ran).toEqual([7]);
  expect(await all.status(id)).toMatchObject({ status: 'completed' });
  expect(await schedule()).toEqual({ enqueued: [] }); // seen for the first time
  const [lease] = await main.fetch({ queues: ['default'], max: 9, leaseMs: 1_000, waitMs: 0 });
  expect(JSON.parse(lease!.body)).toMatchObject({ job: 'mail', payload: { n: 7 } });
  expect(await main.stores!.keys.claim('schedule:mails', 'test', app.clock.now() + 1_000)).toMatchObject({
    value: expect.stringContaining('"at"'),
  });
  await all.close();
  for (const one of urls) await endpoint.deleteQueue(one);
});

it('starts without those that it does not use, and refuses names that there are not', async () => {
  const { app, fast, urls } = await createBench();
  const store = memoryStore();
  const options = { backend: fast, store, log: false } as const;
  const { schedule } = lambda(app, { ...options, backendName: 'fast', otherBackends: { default: null } });
  expect(await schedule()).toEqual({ enqueued: [] });
  expect(() => lambda(app, options)).toThrow(/Job or queue "thumb" uses backend "fast"/);
  expect(() => lambda(app, { ...options, backendName: 'fst', otherBackends: { default: null } })).toThrow(
    /Job or queue "thumb" uses backend "fast", but only fst, default was passed/,
  );
  expect(() => lambda(app, { ...options, on: 'fast', backends: { default: null } } as never)).toThrow(
    'Option on of lambda() is called backendName now.',
  );
  await fast.close();
  for (const one of urls) await endpoint.deleteQueue(one);
});
