import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { sqs } from '../../../functions/aws/index.ts';
import { addressOfArn } from '../../../functions/aws/sqs/queues.ts';
import { benchesHere } from './bench.ts';
import { refuseRemote, timeIsOurs } from './endpoint.ts';

const benches = benchesHere();
const bench = benches.open;

describe('sqs() on the wire', () => {
  it('makes at most 0.35 requests per job: enqueue, receive and delete, ten at a time', async () => {
    const t = await bench();
    await t.fetch(); // looks once whether the queues exist
    t.requests.clear();
    await t.backend.enqueue(Array.from({ length: 500 }, () => t.message()));
    for (let settled = 0; settled < 500; ) {
      const leases = await t.fetch(50);
      settled += leases.length;
      await t.backend.ack(leases.map((lease) => ({ lease })));
    }
    expect(Object.fromEntries(t.requests)).toEqual({
      SendMessageBatchCommand: 50,
      ReceiveMessageCommand: 50,
      DeleteMessageBatchCommand: 50,
    });
  });

  it('asks for all that a fetch wants at once, as long as there is plenty', async () => {
    const t = await bench();
    await t.fetch();
    await t.backend.enqueue(Array.from({ length: 130 }, () => t.message()));
    let [underWay, most] = [0, 0];
    benches.endpoint.client.middlewareStack.add(
      (next) => async (args) => {
        most = Math.max(most, ++underWay);
        return next(args).finally(() => underWay--);
      },
      { step: 'initialize', name: 'together' },
    );
    async function fetched(waitMs: number) {
      t.requests.clear();
      most = 0;
      const { length } = await t.backend.fetch({ queues: ['mail'], max: 40, leaseMs: 60_000, waitMs });
      return { length, most, asked: t.requests.get('ReceiveMessageCommand') };
    }
    expect(await fetched(1_000)).toEqual({ length: 40, most: 3, asked: 4 });
    expect(await fetched(1_000)).toEqual({ length: 40, most: 4, asked: 4 });
    expect(await fetched(0)).toEqual({ length: 40, most: 4, asked: 4 });
    expect(await fetched(0)).toEqual({ length: 10, most: 4, asked: 4 });
    expect(await fetched(0)).toEqual({ length: 0, most: 1, asked: 1 });
    benches.endpoint.client.middlewareStack.remove('together');
  });

  it('keeps what other calls bring when one fails, and says so when all do', async () => {
    const t = await bench();
    await t.fetch();
    await t.backend.enqueue(Array.from({ length: 80 }, () => t.message()));
    let fails: (call: number) => boolean = () => false;
    let calls = 0;
    benches.endpoint.client.middlewareStack.add(
      (next, { commandName = '' }) =>
        async (args) => {
          if (commandName === 'ReceiveMessageCommand' && fails(++calls)) throw new Error('cut off');
          return next(args);
        },
      { step: 'initialize', name: 'fails' },
    );
    expect(await t.fetch(30)).toHaveLength(30);
    fails = (call) => call % 3 === 0;
    expect(await t.fetch(30)).toHaveLength(20);
    fails = () => true;
    await expect(t.fetch(30)).rejects.toMatchObject({ code: 'BACKEND' });
    fails = () => false;
    expect(await t.fetch(30)).toHaveLength(30);
    benches.endpoint.client.middlewareStack.remove('fails');
  });

  it('asks for the attributes it needs, and for no others', async () => {
    const t = await bench();
    const asked: unknown[] = [];
    benches.endpoint.client.middlewareStack.add(
      (next) => (args) => {
        asked.push(args.input);
        return next(args);
      },
      { step: 'initialize', name: 'see' },
    );
    await t.fetch(3, 30_500);
    benches.endpoint.client.middlewareStack.remove('see');
    expect(asked.at(-1)).toMatchObject({
      MaxNumberOfMessages: 3,
      VisibilityTimeout: 31,
      WaitTimeSeconds: 0,
      MessageAttributeNames: ['longshore.*'],
      MessageSystemAttributeNames: [
        'ApproximateReceiveCount',
        'ApproximateFirstReceiveTimestamp',
        'SentTimestamp',
        'MessageGroupId',
      ],
    });
  });

  it('hands jobs back together that are told to wait at the same moment', async () => {
    const t = await bench();
    await t.backend.enqueue(Array.from({ length: 10 }, () => t.message()));
    const leases = await t.fetch(10);
    t.requests.clear();
    const wait = { delayMs: 60_000, countAttempt: false };
    const [gone, ...others] = leases;
    await t.backend.ack([{ lease: gone! }]);
    expect(await Promise.all(leases.map((lease) => t.backend.nack(lease, wait)))).toEqual([
      false,
      ...others.map(() => true),
    ]);
    expect(Object.fromEntries(t.requests)).toEqual({
      SendMessageBatchCommand: 1,
      DeleteMessageBatchCommand: 2, // the ack's
    });
  });

  it('fills requests up to 1 MiB and not beyond', async () => {
    const t = await bench();
    const body = 'x'.repeat(400_000);
    const results = await t.backend.enqueue(Array.from({ length: 5 }, () => t.message({ body })));
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(t.requests.get('SendMessageBatchCommand')).toBe(3);
  });

  it('gives a message that SQS refuses its own answer', async () => {
    const t = await bench();
    const results = await t.backend.enqueue([
      t.message(),
      t.message({ body: '{"a":"\uffff"}' }),
      t.message(),
    ]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(results[1]).toMatchObject({
      error: { code: 'PAYLOAD', message: expect.stringMatching(/U\+FFFE/) },
    });
  });

  it.runIf(timeIsOurs)('postpones for weeks in hops that spend no attempt, under one id', async () => {
    const t = await bench();
    const dueAt = t.time.clock.now() + 3 * 3_600_000;
    const sent = t.message({ notBefore: dueAt });
    await t.backend.enqueue([sent]);
    for (let i = 0; i < 12; i++) {
      await t.time.advance(890_000);
      expect(await t.fetch()).toEqual([]);
      await t.time.advance(10_000);
      if (t.time.clock.now() < dueAt) expect(await t.fetch()).toEqual([]);
    }
    await t.time.advance(1_000);
    const [lease, ...others] = await t.fetch();
    expect(others).toEqual([]);
    expect(lease).toMatchObject({ body: sent.body, attempt: 1 });
    await t.backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no' });
    expect(await t.backend.admin!.deadLetters.list({})).toMatchObject([{ id: sent.id, attempt: 1 }]);
  });

  it('keeps the count over copies: failures before and after a release add up', async () => {
    const t = await bench();
    await t.backend.enqueue([t.message()]);
    const attempts: number[] = [];
    for (const countAttempt of [true, false, true, false, true]) {
      const [lease] = await t.fetch();
      attempts.push(lease!.attempt);
      await t.backend.nack(lease!, { delayMs: 0, countAttempt });
    }
    expect(attempts).toEqual([1, 2, 2, 3, 3]);
  });

  it.runIf(timeIsOurs)('retries after days, beyond the 12 hours that SQS hides a message', async () => {
    const t = await bench();
    await t.backend.enqueue([t.message()]);
    const [lease] = await t.fetch();
    expect(await t.backend.nack(lease!, { delayMs: 24 * 3_600_000, countAttempt: true })).toBe(true);
    for (let i = 0; i < 95; i++) {
      await t.time.advance(900_000);
      expect(await t.fetch()).toEqual([]);
    }
    await t.time.advance(901_000);
    expect(await t.fetch()).toMatchObject([{ attempt: 2 }]);
  });
});

describe('dead letters', () => {
  it('are refused at the start when they have nowhere to go', async () => {
    const t = await bench();
    await benches.endpoint.deleteQueue(t.deadLetterUrl);
    await t.backend.enqueue([t.message()]);
    const missing = {
      code: 'CONFIG',
      message: expect.stringMatching(/dead-letter queue of "mail".*Create it/),
    };
    await expect(t.fetch()).rejects.toMatchObject(missing);
    await expect(t.backend.check()).rejects.toMatchObject(missing);
    // What `longshore health` asks.
    await expect(t.backend.admin.stats('mail')).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringContaining(
        `counting the dead letters of queue "mail" at ${t.deadLetterUrl}: The specified queue does not exist`,
      ),
    });
    await benches.endpoint.createQueue(new URL(t.deadLetterUrl).pathname.split('/').at(-1)!);
    expect(await t.fetch()).toHaveLength(1); // nothing was taken meanwhile
  });

  it('carry reason, error and origin as attributes', async () => {
    const t = await bench();
    const { id, body } = t.message();
    await t.backend.enqueue([t.message({ id, body })]);
    const [lease] = await t.fetch();
    await t.backend.abandon(lease!, { reason: 'exhausted', error: `HANDLER: ${'ü'.repeat(2_000)}` });
    const { Messages } = await benches.endpoint.client.send(
      new ReceiveMessageCommand({ QueueUrl: t.deadLetterUrl, MessageAttributeNames: ['All'] }),
    );
    const attributes = Messages![0]!.MessageAttributes!;
    expect(Object.fromEntries(Object.entries(attributes).map(([k, v]) => [k, v.StringValue]))).toEqual({
      'longshore.id': id,
      'longshore.job': 'invoice.send',
      'longshore.reason': 'exhausted',
      'longshore.error': `HANDLER: ${'ü'.repeat(745)}`,
      'longshore.attempt': '1',
      'longshore.diedAt': expect.stringMatching(/^\d{13}$/),
    });
    expect(Messages![0]!.Body).toBe(body);
  });

  it('keep a foreign body that leaves no room for a reason', async () => {
    const t = await bench();
    const MessageBody = 'x'.repeat(1_048_576);
    await benches.endpoint.client.send(new SendMessageCommand({ QueueUrl: t.url, MessageBody }));
    const [lease] = await t.fetch();
    expect(await t.backend.abandon(lease!, { reason: 'rejected', error: 'LIMIT: too long' })).toBe(true);
    const [letter] = await t.backend.admin!.deadLetters.list({});
    expect(letter!.body).toHaveLength(1_048_576);
  });

  it('that SQS moved itself are listed as a crash loop', async () => {
    const t = await bench();
    const deadLetterTargetArn = `${t.arn}-dlq`;
    await t.backend.enqueue([t.message()]);
    const { SetQueueAttributesCommand } = await import('@aws-sdk/client-sqs');
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 });
    await benches.endpoint.client.send(
      new SetQueueAttributesCommand({ QueueUrl: t.url, Attributes: { RedrivePolicy } }),
    );
    for (let i = 0; i < 3; i++) {
      await t.fetch(1, 1_000);
      await t.time.advance(1_000);
    }
    expect(await t.backend.admin!.deadLetters.list({})).toMatchObject([
      { reason: 'crash-loop', error: expect.stringMatching(/maxReceiveCount/), job: 'invoice.send' },
    ]);
  });
});

describe('long polls', () => {
  it('release what no fetch came for, and spend no attempt on it', async () => {
    const t = await bench();
    const controller = new AbortController();
    const fetching = t.backend.fetch({
      queues: ['mail'],
      max: 10,
      leaseMs: 60_000,
      waitMs: 20_000,
      signal: controller.signal,
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    controller.abort();
    expect(await fetching).toEqual([]);
    await t.backend.enqueue([t.message()]); // the receive call is still under way
    await t.backend.close();
    const other = sqs({ queues: { mail: t.url }, client: benches.endpoint.client, clock: t.time.clock });
    const request = { queues: ['mail'], max: 10, leaseMs: 60_000, waitMs: 0 };
    expect(await other.fetch(request)).toMatchObject([{ attempt: 1 }]);
    await other.close();
  });
});

describe('what sqs() is given', () => {
  const url = 'https://sqs.eu-central-1.amazonaws.com/123456789012/shop-mail';

  it.each([
    [{}, /either queues or queueUrl, got neither/],
    [{ queues: { mail: url }, queueUrl: url }, /got both/],
    [{ queues: { mail: 'mail' } }, /the URL of queue "mail" to be like https/],
    [{ queueUrl: 'nowhere' }, /queueUrl to be like https/],
    [{ queues: { mail: url }, deadLetterUrls: { male: url } }, /"male", which is not among queues/],
    [{ queues: { mail: url }, deadLetterUrls: { mail: url } }, /its own dead-letter queue/],
    [{ queues: { mail: url }, deadLetterUrls: { mail: `${url}.fifo` } }, /must both be FIFO queues/],
    [{ queues: { 'a b': url } }, /A queue's name must match/],
    [{ queues: { mail: url }, longPollMs: 30_000 }, /longPollMs of sqs\(\) to be at most 20000/],
  ])('is refused with CONFIG: %o', (options, message) => {
    expect(() => sqs(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
  });

  it('finds queues by name and by ARN', () => {
    const byName = sqs({ queues: { mail: url } }).queues;
    const byPrefix = sqs({ queueUrl: url.slice(0, -4) }).queues;
    for (const queues of [byName, byPrefix]) {
      expect(queues.of('mail')).toMatchObject({ url, deadLetterUrl: `${url}-dlq`, fifo: false });
      expect(addressOfArn(queues, 'arn:aws:sqs:eu-central-1:123456789012:shop-mail')?.name).toBe('mail');
      expect(addressOfArn(queues, 'arn:aws:sqs:eu-central-1:999999999999:shop-mail')).toBeNull();
      expect(addressOfArn(queues, 'arn:aws:sns:eu-central-1:123456789012:shop-mail')).toBeNull();
      expect(addressOfArn(queues, '')).toBeNull();
    }
    expect(() => byName.of('reports')).toThrow(
      /"reports" to be among those given to sqs\(\), which are mail/,
    );
    expect(byPrefix.of('x.fifo'.replace('x', 'orders')).deadLetterUrl).toMatch(/shop-orders-dlq\.fifo$/);
  });

  it('is asked for what SQS cannot do, and says so', async () => {
    const { admin } = sqs({ queues: { mail: url } });
    const { setPaused, clear } = admin!;
    for (const call of [setPaused('mail', true), setPaused('mail', false), clear('mail')]) {
      await expect(call).rejects.toMatchObject({
        code: 'CONFIG',
        message: expect.stringMatching(/^SQS cannot/),
      });
    }
    await expect(admin!.peek('mail', 1)).rejects.toMatchObject({ code: 'CONFIG' });
  });
});

describe('faults', () => {
  it('of the order: a renewal that is answered after the end does not open the lease again', async () => {
    const t = await bench();
    await t.backend.enqueue([t.message()]);
    const [lease] = await t.fetch();
    const renewing = t.backend.renew([lease!], 60_000);
    const released = t.backend.nack(lease!, { delayMs: 30_000, countAttempt: true });
    expect(await Promise.all([released, renewing])).toEqual([true, [true]]);
    expect(await t.backend.renew([lease!], 60_000)).toEqual([false]);
    expect(await t.backend.ack([{ lease: lease! }])).toEqual([false]);
  });

  it('of the network are BACKEND, and the lease can still be settled afterwards', async () => {
    const t = await bench();
    await t.backend.enqueue([t.message()]);
    const [lease] = await t.fetch();
    const cut = sqs({
      queues: { mail: t.url },
      endpoint: 'http://127.0.0.1:1',
      region: 'us-east-1',
      clock: t.time.clock,
    });
    process.env.AWS_ACCESS_KEY_ID ??= 'test';
    process.env.AWS_SECRET_ACCESS_KEY ??= 'test';
    for (let i = 0; i < 2; i++) {
      await expect(cut.ack([{ lease: lease! }])).rejects.toMatchObject({ code: 'BACKEND' });
    }
    await expect(cut.enqueue([t.message()])).rejects.toMatchObject({ code: 'BACKEND' });
    await cut.close();
    expect(await t.backend.ack([{ lease: lease! }])).toEqual([true]);
  });

  it('never reach the cloud by accident', () => {
    for (const url of ['http://127.0.0.1:4566', 'http://localhost:4566', 'http://sqs.localhost:1']) {
      refuseRemote(url, false);
    }
    const remote = 'https://sqs.eu-central-1.amazonaws.com';
    expect(() => refuseRemote(remote, false)).toThrow(/to be on this machine/);
    refuseRemote(remote, true);
  });
});
