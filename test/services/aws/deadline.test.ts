/** What a function does with more messages than it has time for. */

import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, type LongshoreEvent } from '../../../core/index.ts';
import { type LambdaOptions, lambda } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { benchesHere } from './bench.ts';
import { timeIsOurs } from './endpoint.ts';

const benches = benchesHere();
afterEach(() => benches.endpoint.client.middlewareStack.remove('slow'));

async function open(options: Partial<LambdaOptions> = {}) {
  const bench = await benches.open({ attributes: { VisibilityTimeout: '360' } });
  const { clock } = bench.time;
  const ran: number[] = [];
  const events: LongshoreEvent[] = [];
  const job = defineJob({
    name: 'job',
    queue: 'mail',
    payload: z.number(),
    timeoutMs: 20_000,
    async handle(n) {
      ran.push(n);
      if (n >= 10) await new Promise(() => {}); // until the function ends it
    },
  });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [job], signing, clock, on: (event) => events.push(event) });
  const { worker } = lambda(app, {
    backend: bench.backend,
    store: memoryStore({ clock }),
    log: false,
    ...options,
  });
  const client = connect(app, bench.backend, { store: memoryStore({ clock }) });
  return {
    ...bench,
    ran,
    events,
    worker,
    enqueue: (count: number, delayMs = 0) =>
      client.enqueueMany(
        job,
        Array.from({ length: count }, (_, n) => n),
        { delayMs },
      ),
    /** Calls the function with up to so many messages, and waits until `started` of them have begun. */
    async call(batchSize: number, timeoutMs: number, started: number) {
      let requests: Record<string, number> = {};
      let at = 0;
      const poller = createPoller({
        client: benches.endpoint.client,
        url: bench.url,
        arn: bench.arn,
        clock: { now: clock.now, after: () => () => {} }, // a function that is too late shows in the test's own time
        batchSize,
        async invoke(event, context) {
          const answer = await worker(event, context);
          requests = Object.fromEntries(bench.requests);
          at = clock.now();
          return answer;
        },
      });
      const messages = await poller.receive();
      bench.requests.clear();
      const ended = poller.deliver(messages, timeoutMs).then(({ failed, thrown }) => {
        return { failed: failed.length, thrown, requests, at };
      });
      while (ran.length < started) await new Promise(setImmediate);
      return { ended, messages: messages.length };
    },
  };
}

/** Every request takes so long. */
function slow(ms: number, advance: (ms: number) => unknown): void {
  benches.endpoint.client.middlewareStack.add(
    (next) => async (args) => {
      await advance(ms);
      return next(args);
    },
    { step: 'initialize', name: 'slow' },
  );
}

describe('messages that a function has no time for', () => {
  it.runIf(timeIsOurs)('go back ten at a time, and lose no attempt', async () => {
    const t = await open();
    await t.enqueue(320);
    const { ended } = await t.call(320, 5_000, 20);
    await t.time.advance(3_000); // the ten that run are ended, and 300 have not begun
    const { failed, requests } = await ended;
    expect(failed).toBe(10);
    expect(requests).toEqual({
      ChangeMessageVisibilityBatchCommand: 1,
      SendMessageBatchCommand: 30,
      DeleteMessageBatchCommand: 30,
    });
    const leases = await t.fetch(300);
    expect(leases).toHaveLength(300);
    expect(new Set(leases.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  });

  it.runIf(timeIsOurs)('are reported as failed where there is no time to send them back either', async () => {
    const t = await open({ concurrency: 1 });
    await t.enqueue(300);
    const startedAt = t.time.clock.now();
    const { ended } = await t.call(300, 5_000, 11);
    slow(50, t.time.advance);
    await t.time.advance(3_000);
    const { failed, at } = await ended;
    expect(at - startedAt).toBeLessThan(5_000);
    expect(failed).toBeGreaterThan(100);
    expect(failed).toBeLessThan(290);
  });

  it.runIf(timeIsOurs)('do not cost those that are done their answer when SQS does not answer', async () => {
    const t = await open();
    await t.enqueue(40);
    const { ended } = await t.call(40, 5_000, 20);
    benches.endpoint.client.middlewareStack.add(
      (next, { commandName }) =>
        (args) =>
          commandName === 'ChangeMessageVisibilityBatchCommand' ? new Promise(() => {}) : next(args),
      { step: 'initialize', name: 'slow' },
    );
    await t.time.advance(3_000);
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    await t.time.advance(1_500);
    expect((await ended).failed).toBe(30);
    expect(t.events).toContainEqual(expect.objectContaining({ type: 'backend.failed', during: 'settling' }));
  });

  it.runIf(timeIsOurs)('because they come too early are sent on ten at a time', async () => {
    const t = await open();
    await t.enqueue(100, 3_600_000);
    await t.time.advance(900_000);
    const { ended, messages } = await t.call(100, 5_000, 0);
    expect(messages).toBe(100);
    const { failed, requests } = await ended;
    expect(failed).toBe(0);
    expect(requests).toEqual({ SendMessageBatchCommand: 10, DeleteMessageBatchCommand: 10 });
  });
});

describe('messages whose jobs are done', () => {
  it.runIf(timeIsOurs)('wait 2 s at most for a store that takes no numbers', async () => {
    const silent = { write: () => new Promise<never>(() => {}), read: async () => [], purge: async () => 0 };
    const t = await open({ store: { ...memoryStore(), metrics: silent } });
    await t.enqueue(1);
    let failed: number | null = null;
    const { ended } = await t.call(1, 300_000, 1);
    void ended.then((answer) => {
      failed = answer.failed;
    });
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    await t.time.advance(1_999);
    expect(failed).toBeNull();
    await t.time.advance(1);
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    expect(failed).toBe(0);
    await ended;
  });
});

describe('a function whose timeout leaves no time beside marginMs', () => {
  it.each([
    [2_000, /more time than marginMs \(2000\), got 2000. Give the function a longer timeout/],
    [undefined, /Lambda's context.*got undefined.*both parameters/],
  ])('says so, and runs nothing: %s', async (remainingMs, message) => {
    const t = await open();
    const context = remainingMs === undefined ? {} : { getRemainingTimeInMillis: () => remainingMs };
    await expect(t.worker({ Records: [] }, context as never)).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(message),
    });
  });
});
