/** Delays over 15 minutes by EventBridge Scheduler: the real SDK against a stand-in, which sends to the real queue. */

import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, RetryAfterError } from '../../../core/index.ts';
import { lambda, sqs } from '../../../functions/aws/index.ts';
import type { SchedulerOptions } from '../../../functions/aws/sqs/scheduler.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { type SchedulerServer, startScheduler } from '../../kit/servers/scheduler.ts';
import { openBench, type SqsBench } from './bench.ts';
import { type Endpoint, openEndpoint, timeIsOurs } from './endpoint.ts';

let endpoint: Endpoint;
let server: SchedulerServer;
let client: SchedulerClient;
let opened: SqsBench | null = null;

beforeAll(async () => {
  endpoint = await openEndpoint();
  server = await startScheduler(endpoint.client, 'jobs');
  client = new SchedulerClient({
    endpoint: server.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  });
});
afterEach(async () => {
  server.failWith(null);
  await opened?.close();
  opened = null;
});
afterAll(async () => {
  vi.useRealTimers();
  client.destroy();
  await server.stop();
  await endpoint.stop();
});

const hour = 3_600_000;
const roleArn = 'arn:aws:iam::123456789012:role/scheduler';

async function open(change: Partial<SchedulerOptions> = {}) {
  opened = await openBench(endpoint, {
    attributes: { VisibilityTimeout: '360' },
    scheduler: { roleArn, groupName: 'jobs', client, ...change },
  });
  return opened;
}

describe.runIf(timeIsOurs)('a delay over 15 minutes', () => {
  it('is one schedule, which sends the message when it is due and is gone', async () => {
    const t = await open();
    const notBefore = t.time.clock.now() + 30 * 24 * hour + 300;
    const message = t.message({ notBefore });
    const [near, far] = await t.backend.enqueue([
      t.message({ notBefore: notBefore - 29.999 * 24 * hour }),
      message,
    ]);
    expect([near?.ok, far?.ok]).toEqual([true, true]);
    const [schedule, ...others] = server.schedules();
    expect(others.map(({ at }) => at - notBefore)).toEqual([]);
    expect(schedule!.at - notBefore).toBeGreaterThanOrEqual(0); // never early
    expect(schedule!.at - notBefore).toBeLessThan(1_000);
    await t.time.advance(30 * 24 * hour + 1_000);
    expect(await server.fire(t.time.clock.now())).toBe(1);
    expect(server.schedules()).toEqual([]);
    const leases = await t.fetch();
    expect(leases.map(({ body }) => body)).toContain(message.body);
    expect(leases.find(({ body }) => body === message.body)).toMatchObject({ attempt: 1 });
  });

  it('is made whatever the id is, and for each of two that look alike', async () => {
    const t = await open();
    const notBefore = t.time.clock.now() + hour;
    const ids = ['a.b', 'a_b', `${'x'.repeat(127)}1`, `${'x'.repeat(127)}2`];
    const results = await t.backend.enqueue(ids.map((id) => t.message({ id, notBefore })));
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true, true]);
    expect(server.schedules()).toHaveLength(4);
    await t.time.advance(hour + 1_000);
    expect(await server.fire(t.time.clock.now())).toBe(4);
  });

  it('is made once, however often the message is sent', async () => {
    const t = await open();
    const message = t.message({ notBefore: t.time.clock.now() + hour });
    await t.backend.enqueue([message]);
    await t.backend.enqueue([message, message]);
    expect(server.schedules()).toHaveLength(1);
    await t.time.advance(hour + 1_000);
    await server.fire(t.time.clock.now());
    expect(await t.fetch()).toHaveLength(1);
  });

  it('keeps a group whatever its characters, as a message that is sent at once does', async () => {
    const t = await open();
    await t.backend.enqueue([
      t.message({ group: 'customer 7, Zürich', notBefore: t.time.clock.now() + hour }),
    ]);
    await t.time.advance(hour + 1_000);
    expect(await server.fire(t.time.clock.now())).toBe(1);
    expect(await t.fetch()).toHaveLength(1);
  });

  it.each(['schedule-arn', 'scheduled-time', 'execution-id', 'attempt-number'])(
    'leaves a text alone that looks like a keyword of EventBridge: %s',
    async (keyword) => {
      const t = await open();
      const body = JSON.stringify({ text: `\\<aws.scheduler.${keyword}> <aws.scheduler.${keyword}>` });
      await t.backend.enqueue([t.message({ body, notBefore: t.time.clock.now() + hour })]);
      await t.time.advance(hour + 1_000);
      await server.fire(t.time.clock.now());
      expect(await t.fetch()).toMatchObject([{ body }]);
    },
  );

  it('is in the partition of its role', async () => {
    const t = await open({ roleArn: 'arn:aws-cn:iam::123456789012:role/scheduler' });
    await t.backend.enqueue([t.message({ notBefore: t.time.clock.now() + hour })]);
    expect(server.schedules()[0]!.body.Target!.Arn).toBe('arn:aws-cn:scheduler:::aws-sdk:sqs:sendMessage');
    await t.time.advance(hour + 1_000);
    expect(await server.fire(t.time.clock.now())).toBe(1);
  });

  it('goes in hops where the message is too large for a schedule', async () => {
    const t = await open();
    const body = JSON.stringify('x'.repeat(300_000));
    await t.backend.enqueue([t.message({ notBefore: t.time.clock.now() + 1_000_000, body })]);
    expect(server.schedules()).toEqual([]);
    await t.time.advance(900_000);
    expect(await t.fetch()).toEqual([]);
    await t.time.advance(101_000);
    expect(await t.fetch()).toMatchObject([{ attempt: 1 }]);
  });

  it('waits a little longer in the queue when EventBridge is early', async () => {
    const t = await open();
    await t.backend.enqueue([t.message({ notBefore: t.time.clock.now() + hour })]);
    await t.time.advance(hour - 30_000);
    await server.fire(Number.POSITIVE_INFINITY);
    expect(await t.fetch()).toEqual([]);
    await t.time.advance(31_000);
    expect(await t.fetch()).toMatchObject([{ attempt: 1 }]);
  });

  it('keeps the attempts of a retry that is later than SQS can hide', async () => {
    const t = await open();
    await t.backend.enqueue([t.message()]);
    for (const attempt of [1, 2, 3]) {
      const [lease] = await t.fetch();
      expect(lease?.attempt).toBe(attempt);
      expect(await t.backend.nack(lease!, { delayMs: 24 * hour, countAttempt: true })).toBe(true);
      expect(server.schedules()).toHaveLength(1);
      await t.time.advance(24 * hour + 1_000);
      await server.fire(t.time.clock.now());
    }
  });

  it('takes no schedule for a retry within 12 hours', async () => {
    const t = await open();
    await t.backend.enqueue([t.message()]);
    const [lease] = await t.fetch();
    const before = server.requests();
    await t.backend.nack(lease!, { delayMs: 11 * hour, countAttempt: true });
    expect(server.requests()).toBe(before);
    await t.time.advance(11 * hour + 1_000);
    expect(await t.fetch()).toMatchObject([{ attempt: 2 }]);
  });

  it('is a dead letter when EventBridge could not send it, and can be retried', async () => {
    const t = await open();
    const message = t.message({ notBefore: t.time.clock.now() + hour });
    await t.backend.enqueue([message]);
    await t.time.advance(hour + 1_000);
    await server.giveUp(t.time.clock.now(), t.deadLetterUrl);
    const [letter] = await t.backend.admin.deadLetters.list({});
    expect(letter).toMatchObject({
      id: message.id,
      job: message.job,
      body: message.body,
      reason: 'exhausted',
    });
    expect(letter!.error).toMatch(/EventBridge Scheduler tried for a day/);
    expect(await t.backend.admin.deadLetters.retry([message.id])).toBe(1);
    expect(await t.fetch()).toMatchObject([{ body: message.body, attempt: 1 }]);
  });

  it('is one job in the records, whose attempts count from one', async () => {
    const t = await open();
    const { clock } = t.time;
    const attempts: number[] = [];
    const job = defineJob({
      name: 'later',
      queue: 'mail',
      payload: z.null(),
      maxRetries: 1,
      handle(_, { attempt }) {
        attempts.push(attempt);
        if (attempt === 1) throw new RetryAfterError(20 * hour);
      },
    });
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const app = createApp({ jobs: [job], signing, clock });
    const store = memoryStore({ clock });
    const { worker } = lambda(app, { backend: t.backend, store, log: false });
    const { url, arn } = t;
    const poller = createPoller({ client: endpoint.client, url, arn, clock, batchSize: 10, invoke: worker });
    const { id } = await connect(app, t.backend, { store }).enqueue(job, null, { delayMs: 48 * hour });
    for (const wait of [48, 20]) {
      expect(await poller.poll(60_000)).toMatchObject({ taken: 0 });
      await t.time.advance(wait * hour + 1_000);
      await server.fire(clock.now());
      expect(await poller.poll(60_000)).toMatchObject({ taken: 1, thrown: null });
    }
    expect(await poller.poll(60_000)).toMatchObject({ taken: 0 });
    expect(attempts).toEqual([1, 2]);
    expect(await store.records.get(id)).toMatchObject({ status: 'completed', attempts: [{}, {}] });
    expect((await store.records.page({})).records).toHaveLength(1);
  });
});

describe('what goes wrong with the scheduler', () => {
  it('is an answer of its own for each message, and the others are sent', async () => {
    const t = await open({ groupName: 'nobody-made-it' });
    const notBefore = t.time.clock.now() + hour;
    const results = await t.backend.enqueue([t.message(), t.message({ notBefore }), t.message()]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(results[1]).toMatchObject({
      error: { code: 'CONFIG', message: expect.stringMatching(/Create the schedule group/) },
    });
    await expect(t.backend.enqueue([t.message({ notBefore })])).rejects.toMatchObject({ code: 'CONFIG' });
  });

  it.each([
    [403, 'AccessDeniedException', 'CONFIG', /scheduler:CreateSchedule.*iam:PassRole/],
    [400, 'ValidationException', 'CONFIG', /trust scheduler\.amazonaws\.com/],
    [500, 'InternalServerException', 'BACKEND', /EventBridge Scheduler failed for queue "mail"/],
  ])('is said as ours: %i %s', async (status, type, code, message) => {
    const t = await open();
    server.failWith({ status, type });
    await expect(
      t.backend.enqueue([t.message({ notBefore: t.time.clock.now() + hour })]),
    ).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.runIf(timeIsOurs)('leaves a lease as it was, which can be settled afterwards', async () => {
    const t = await open();
    await t.backend.enqueue([t.message()]);
    const [lease] = await t.fetch();
    server.failWith({ status: 500, type: 'InternalServerException' });
    const how = { delayMs: 24 * hour, countAttempt: true };
    await expect(t.backend.nack(lease!, how)).rejects.toMatchObject({ code: 'BACKEND' });
    server.failWith(null);
    expect(await t.backend.nack(lease!, how)).toBe(true);
    await t.time.advance(25 * hour);
    await server.fire(t.time.clock.now());
    expect(await t.fetch()).toMatchObject([{ attempt: 2 }]);
  });

  it.each([undefined, '', 'scheduler', 'arn:aws:iam::1:role/x'])(
    'is found at the start: roleArn %o',
    (wrong) => {
      const queues = { mail: 'https://sqs.eu-central-1.amazonaws.com/123456789012/mail' };
      expect(() => sqs({ queues, scheduler: { roleArn: wrong as string } })).toThrow(
        expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(/scheduler\.roleArn/) }),
      );
    },
  );
});
