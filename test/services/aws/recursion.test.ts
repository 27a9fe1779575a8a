/**
 * Lambda stops a chain of some 16 invocations, each of which was caused by a message of the one before. No job that waits may be such a
 * chain, however long it waits.
 */

import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import {
  type Client,
  connect,
  createApp,
  defineJob,
  fixed,
  type HandlerContext,
  keyRing,
  SnoozeError,
} from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { lambda } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { benchesHere } from './bench.ts';
import { timeIsOurs } from './endpoint.ts';

const benches = benchesHere();
afterEach(() => vi.unstubAllEnvs());

const minute = 60_000;
const hour = 60 * minute;

type Handle = (ctx: HandlerContext, say: (what: string) => void, client: Client) => unknown;

async function open(handle: Handle, options: { slots?: number; maxRetries?: number; retryMs?: number } = {}) {
  const bench = await benches.open({ attributes: { VisibilityTimeout: '360' } });
  const { time, backend, url, arn, deadLetterUrl } = bench;
  const { clock } = time;
  const said: string[] = [];
  const { slots, maxRetries = 3, retryMs = 0 } = options;
  const job = defineJob({
    name: 'job',
    queue: 'mail',
    payload: z.object({}),
    maxRetries,
    retry: fixed(retryMs),
    timeoutMs: 20_000,
    ...(slots !== undefined && { concurrency: { limit: slots } }),
    handle: (_, ctx) => handle(ctx, (what) => said.push(what), client),
  });
  const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]), clock });
  const store = memoryStore({ clock });
  const { worker } = lambda(app, { backend, store, log: false });
  const client: Client = connect(app, backend, { store });
  let invocations = 0;
  const poller = createPoller({
    client: benches.endpoint.client,
    url,
    arn,
    clock,
    batchSize: 10,
    deadLetterUrl,
    async invoke(event, context) {
      invocations++;
      vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'shop-worker');
      vi.stubEnv('_X_AMZN_TRACE_ID', context.traceHeader);
      return worker(event, context).finally(() => vi.unstubAllEnvs());
    },
  });
  return {
    ...bench,
    client,
    store,
    job,
    said,
    poller,
    invocations: () => invocations,
    dead: async () => (await backend.admin.deadLetters.list({})).length,
    /** Polls until this moment, and looks again after each step. */
    async until(at: number, stepMs: number) {
      while (clock.now() < at) {
        const { taken } = await poller.poll(minute);
        if (taken === 0) await time.advance(stepMs);
      }
    },
  };
}

describe.runIf(timeIsOurs)('the rule of these tests', () => {
  it('stops a job that enqueues itself, after 16 invocations', async () => {
    const t = await open((_, say, client) => {
      say('ran');
      return client.enqueue(t.job, {});
    });
    await t.client.enqueue(t.job, {});
    await t.until(t.time.clock.now() + minute, minute);
    expect(t.said).toHaveLength(16);
    expect(await t.dead()).toBe(1);
  });

  it('keeps the trace of the sender with the message, as SQS does', async () => {
    const t = await open(() => {});
    const { client } = benches.endpoint;
    const command = new SendMessageCommand({ QueueUrl: t.url, MessageBody: 'x' });
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'shop-worker');
    vi.stubEnv('_X_AMZN_TRACE_ID', 'Root=1-2-3;Lineage=1:00000000:7');
    await client.send(command);
    const { Messages: [message] = [] } = await client.send(
      new ReceiveMessageCommand({ QueueUrl: t.url, MessageSystemAttributeNames: ['All'] }),
    );
    expect(message?.Attributes).toMatchObject({ AWSTraceHeader: 'Root=1-2-3;Lineage=1:00000000:7' });
  });
});

describe.runIf(timeIsOurs)('no chain is', () => {
  it('a delay of two days', async () => {
    const t = await open((_, say) => say('done'));
    const begun = t.time.clock.now();
    await t.client.enqueue(t.job, {}, { delayMs: 48 * hour });
    await t.until(begun + 47.9 * hour, 15 * minute);
    expect(t.said).toEqual([]);
    expect(t.invocations()).toBeGreaterThan(100);
    await t.until(begun + 48.5 * hour, 15 * minute);
    expect(t.said).toEqual(['done']);
    expect(await t.dead()).toBe(0);
  });

  it('a sleep of a day between two steps, and twenty short ones', async () => {
    const t = await open(async (ctx, say) => {
      await ctx.sleep('1d');
      await ctx.step('slept', () => say('slept'));
      for (let i = 0; i < 20; i++) await ctx.sleep('15m');
      say('done');
    });
    await t.client.enqueue(t.job, {});
    await t.until(t.time.clock.now() + 31 * hour, 15 * minute);
    expect(t.said).toEqual(['slept', 'done']);
    expect(await t.dead()).toBe(0);
  });

  it('a wait of hours for an event', async () => {
    const t = await open(async (ctx, say) => {
      const event = await ctx.waitFor('packed', { key: '7', timeoutMs: '1d' });
      say(event ? 'packed' : 'not packed');
    });
    await t.client.enqueue(t.job, {});
    await t.until(t.time.clock.now() + 3 * hour, minute);
    await t.client.emit('packed', {}, { key: '7' });
    await t.until(t.time.clock.now() + 10 * minute, minute);
    expect(t.said).toEqual(['packed']);
    expect(await t.dead()).toBe(0);
  });

  it('a job that is paused for hours', async () => {
    const t = await open((_, say) => say('done'));
    const { jobs } = createOperator(t.client, { from: 'test', actor: 'test' });
    await jobs.pause('job');
    await t.client.enqueue(t.job, {});
    await t.until(t.time.clock.now() + 3 * hour, minute);
    expect(t.said).toEqual([]);
    await jobs.resume('job');
    await t.until(t.time.clock.now() + 15 * minute, minute);
    expect(t.said).toEqual(['done']);
    expect(await t.dead()).toBe(0);
  });

  it('a job that waits for hours for the only slot', async () => {
    const t = await open((_, say) => say('done'), { slots: 1 });
    const slot = { key: 'job:job:concurrency', holder: 'another', owner: 'o', queue: 'mail', rank: 0 };
    await t.store.limits!.take([{ ...slot, limit: 1, holdMs: 3 * hour }]);
    await t.client.enqueue(t.job, {});
    await t.until(t.time.clock.now() + 2.9 * hour, minute);
    expect(t.said).toEqual([]);
    await t.until(t.time.clock.now() + 0.3 * hour, minute);
    expect(t.said).toEqual(['done']);
    expect(await t.dead()).toBe(0);
  });

  it('a job that snoozes thirty times', async () => {
    let calls = 0;
    const t = await open((_, say) => {
      if (++calls <= 30) throw new SnoozeError(minute);
      say('done');
    });
    await t.client.enqueue(t.job, {});
    await t.until(t.time.clock.now() + hour, minute);
    expect(t.said).toEqual(['done']);
    expect(await t.dead()).toBe(0);
  });

  it('a job whose twenty retries are further apart than SQS hides a message', async () => {
    const t = await open(
      ({ attempt }, say) => {
        if (attempt <= 20) throw new Error('not now');
        say('done');
      },
      { maxRetries: 20, retryMs: 13 * hour },
    );
    await t.client.enqueue(t.job, {});
    await t.until(t.time.clock.now() + 20 * 14 * hour, hour);
    expect(t.said).toEqual(['done']);
    expect(await t.dead()).toBe(0);
  });
});
