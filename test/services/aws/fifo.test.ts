/** FIFO queues, on a server that gives out a group as AWS does. */

import {
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, fixed, keyRing, startWorker } from '../../../core/index.ts';
import { sqs } from '../../../functions/aws/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { benchesHere } from './bench.ts';

const benches = benchesHere();
const bench = benches.open;

describe('the server of these tests', () => {
  it('gives what it can of a group at once, and no more before all of that is done or back', async () => {
    const t = await bench({ fifo: true });
    await t.backend.enqueue(['a', 'a', 'a', 'b'].map((group) => t.message({ group })));
    const receive = async (MaxNumberOfMessages: number) => {
      const { Messages = [] } = await benches.endpoint.client.send(
        new ReceiveMessageCommand({ QueueUrl: t.url, MaxNumberOfMessages, VisibilityTimeout: 3 }),
      );
      return Messages;
    };
    const taken = await receive(2);
    expect(taken.map(({ Body }) => Body)).toEqual(['{"n":1}', '{"n":2}']);
    expect((await receive(10)).map(({ Body }) => Body)).toEqual(['{"n":4}']);
    const Entries = [{ Id: '0', ReceiptHandle: taken[0]!.ReceiptHandle! }];
    await benches.endpoint.client.send(new DeleteMessageBatchCommand({ QueueUrl: t.url, Entries }));
    expect(await receive(10)).toEqual([]);
    await t.time.advance(3_000);
    expect((await receive(10)).map(({ Body }) => Body)).toEqual(['{"n":2}', '{"n":3}', '{"n":4}']);
  });
});

describe('FIFO queues', () => {
  it('give one lease of a group at a time, though SQS has more of them, and as many groups as were asked for', async () => {
    const t = await bench({ fifo: true });
    const [a1, a2, b1, c1] = ['a', 'a', 'b', 'c'].map((group) => t.message({ group }));
    await t.backend.enqueue([a1!, a2!, b1!, c1!]);
    const leases = await t.fetch(10);
    expect(leases.map(({ body }) => body)).toEqual([a1, b1, c1].map((one) => one!.body));
    expect(await t.fetch(10)).toEqual([]);
    await t.backend.ack([{ lease: leases[0]! }]);
    expect(await t.fetch(10)).toMatchObject([{ body: a2!.body, attempt: 1 }]);
  });

  it('deliver nothing that could not run: what waits behind a job that fails has all its attempts left', async () => {
    const t = await bench({ fifo: true });
    const [first, second] = [1, 2].map(() => t.message({ group: 'a' }));
    await t.backend.enqueue([first!, second!]);
    for (const attempt of [1, 2, 3]) {
      const [lease, ...others] = await t.fetch(10);
      expect(others).toEqual([]);
      expect(lease).toMatchObject({ body: first!.body, attempt });
      await t.backend.nack(lease!, { delayMs: 1_000, countAttempt: true });
      expect(await t.fetch(10)).toEqual([]);
      await t.time.advance(1_000);
    }
    const [last] = await t.fetch(10);
    await t.backend.abandon(last!, { reason: 'exhausted', error: 'HANDLER: no' });
    expect(await t.fetch(10)).toMatchObject([{ body: second!.body, attempt: 1 }]);
  });

  it('keep the order of a group in a worker that runs many jobs at the same time', async () => {
    const t = await bench({ fifo: true });
    vi.useRealTimers();
    const log: string[] = [];
    const busy = new Set<string>();
    const job = defineJob({
      name: 'step',
      queue: 'mail',
      payload: z.string(),
      maxRetries: 1,
      retry: fixed(0),
      async handle(name, { attempt }) {
        expect(busy).not.toContain(name[0]);
        busy.add(name[0]!);
        await new Promise((resolve) => setTimeout(resolve, 20));
        busy.delete(name[0]!);
        log.push(name);
        if (name === 'a2' && attempt === 1) throw new Error('not now');
      },
    });
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const app = createApp({ jobs: [job], signing });
    const backend = sqs({
      queues: { mail: t.url },
      client: benches.endpoint.client,
      keys: t.keys,
      longPollMs: 1_000,
    });
    const store = memory().stores!;
    const client = connect(app, backend, { store });
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'])
      await client.enqueue(job, name, { group: name[0]! });
    const worker = startWorker(app, { backend, store, concurrency: 10, maxJobs: 7, signals: [] });
    expect((await worker.done).counts).toMatchObject({ acked: 6, requeued: 1 });
    expect(log.filter((name) => name[0] === 'a')).toEqual(['a1', 'a2', 'a2', 'a3']);
    expect(log.filter((name) => name[0] === 'b')).toEqual(['b1', 'b2', 'b3']);
    await backend.close();
  });

  it('must not take deliveries for failures: a small maxReceiveCount is refused at the start and by a check', async () => {
    const t = await bench({ fifo: true });
    const redriveAfter = (maxReceiveCount: number) => {
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: t.deadLetterArn, maxReceiveCount });
      const command = new SetQueueAttributesCommand({ QueueUrl: t.url, Attributes: { RedrivePolicy } });
      return benches.endpoint.client.send(command);
    };
    await t.backend.enqueue([t.message()]);
    await redriveAfter(999);
    const refused = {
      code: 'CONFIG',
      message: expect.stringMatching(
        /maxReceiveCount of FIFO queue "mail" at .* to be 1000 or more, got 999/,
      ),
    };
    await expect(t.fetch()).rejects.toMatchObject(refused);
    await expect(t.backend.check()).rejects.toMatchObject(refused);
    await expect(t.backend.admin.check!(() => ({ maxRetries: 0, timeoutMs: 1 }))).rejects.toMatchObject(
      refused,
    );
    await redriveAfter(1_000);
    await t.backend.admin.check!(() => ({ maxRetries: 30, timeoutMs: 1 }));
    expect(await t.fetch()).toMatchObject([{ attempt: 1 }]);
  });

  it('keep the order of a group, also over a release, which spends no attempt', async () => {
    const t = await bench({ fifo: true });
    const sent = [1, 2, 3].map(() => t.message({ group: 'customer 7' }));
    await t.backend.enqueue(sent);
    for (let round = 0; round < 3; round++) {
      const [lease] = await t.fetch();
      expect(lease).toMatchObject({ body: sent[0]!.body, attempt: 1 });
      await t.backend.nack(lease!, { delayMs: 0, countAttempt: false });
    }
    const order: string[] = [];
    for (let i = 0; i < 3; i++) {
      const [lease] = await t.fetch();
      order.push(lease!.body);
      await t.backend.ack([{ lease: lease! }]);
    }
    expect(order).toEqual(sent.map(({ body }) => body));
  });

  it('count on from what an earlier version has stored of a released message', async () => {
    const t = await bench({ fifo: true });
    await t.backend.enqueue([t.message()]);
    const [first] = await t.fetch();
    const key = `sqs-uncounted:${JSON.parse(first!.token).messageId}`;
    const { clock } = t.time;
    await t.keys.claim(key, 'earlier', clock.now() + 30_000);
    await t.keys.release(key, 'earlier', { value: '1', keepUntil: clock.now() + 86_400_000 });
    await t.backend.nack(first!, { delayMs: 0, countAttempt: true });
    const [second] = await t.fetch();
    expect(second!.attempt).toBe(1);
    await t.backend.nack(second!, { delayMs: 0, countAttempt: false });
    expect((await t.fetch())[0]!.attempt).toBe(1);
    expect(await t.keys.claim(key, 'test', clock.now() + 30_000)).toEqual({ state: 'claimed', value: '2' });
  });

  it('take a message once within five minutes, and refuse a delay', async () => {
    const t = await bench({ fifo: true });
    const message = t.message();
    await t.backend.enqueue([message]);
    await t.backend.enqueue([message]);
    expect(await t.fetch()).toHaveLength(1);
    const [refused] = await t.backend.enqueue([t.message({ notBefore: t.time.clock.now() + 1_000 })]);
    expect(refused).toMatchObject({ ok: false, error: { code: 'LIMIT' } });
  });

  it('take a job that comes back from another queue within five minutes', async () => {
    const t = await bench({ fifo: true });
    const message = t.message();
    for (const move of [{}, { hints: { move: 'move-1' } }, { hints: { move: 'move-2' } }]) {
      await t.backend.enqueue([{ ...message, ...move }]);
      const [lease] = await t.fetch();
      expect(lease).toMatchObject({ body: message.body, attempt: 1 });
      await t.backend.ack([{ lease: lease! }]);
    }
  });

  it('move dead letters to a FIFO queue and back', async () => {
    const t = await bench({ fifo: true });
    const message = t.message({ group: 'a' });
    await t.backend.enqueue([message]);
    for (let round = 0; round < 2; round++) {
      const [lease] = await t.fetch();
      expect(lease?.attempt).toBe(1);
      await t.backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no' });
      expect(await t.backend.admin!.deadLetters.list({})).toMatchObject([{ id: message.id }]);
      expect(await t.backend.admin!.deadLetters.retry([message.id])).toBe(1);
    }
  });

  it('show all dead letters of a group, and take them back into it', async () => {
    const t = await bench({ fifo: true });
    const sent = Array.from({ length: 12 }, () => t.message({ group: 'customer 7' }));
    await t.backend.enqueue(sent);
    for (let i = 0; i < 12; i++) {
      const [lease] = await t.fetch();
      await t.backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no' });
    }
    const ids = sent.map(({ id }) => id).sort();
    const listed = await t.backend.admin.deadLetters.list({});
    expect(listed.map(({ id }) => id).sort()).toEqual(ids);
    expect(await t.backend.admin.deadLetters.retry(ids)).toBe(12);
    expect(await t.fetch(10)).toHaveLength(1);
  });

  it('need keys', () => {
    const queues = { mail: 'https://sqs.eu-central-1.amazonaws.com/123456789012/mail.fifo' };
    expect(() => sqs({ queues })).toThrow(/FIFO queue "mail" needs keys/);
  });
});
