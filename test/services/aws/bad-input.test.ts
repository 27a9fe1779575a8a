/** Whatever is wrong with a message, an event or a role: it ends in the dead letters or is not done, and is never just gone. */

import { GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import {
  connect,
  createApp,
  defineJob,
  fixed,
  type HandlerContext,
  keyRing,
  type LongshoreEvent,
  PermanentError,
} from '../../../core/index.ts';
import { lambda } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { openBench, type SqsBench } from './bench.ts';
import { type Endpoint, openEndpoint, timeIsOurs } from './endpoint.ts';

let endpoint: Endpoint;
let opened: SqsBench | null = null;
/** Commands that the role does not allow. */
let denied: readonly string[] = [];
/** What SQS says to a change of the visibility. */
let refusal: object | null = null;

beforeAll(async () => {
  endpoint = await openEndpoint();
  // Nothing here checks permissions, so this says what AWS says.
  endpoint.client.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) => {
        if (!denied.includes(commandName)) return next(args);
        const error = new Error(`User is not authorized to perform: ${commandName}`);
        throw Object.assign(error, { name: 'AccessDenied' });
      },
    { step: 'initialize', name: 'permissions' },
  );
  endpoint.client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (!refusal || commandName !== 'ChangeMessageVisibilityBatchCommand') return next(args);
        return { response: {}, output: { $metadata: {}, Successful: [], Failed: [refusal] } as never };
      },
    { step: 'initialize', name: 'refusals' },
  );
});
afterEach(async () => {
  denied = [];
  refusal = null;
  await opened?.close();
  opened = null;
});
afterAll(async () => {
  vi.useRealTimers();
  await endpoint.stop();
});

const minute = 60_000;
const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);

async function open() {
  const t = await openBench(endpoint, { attributes: { VisibilityTimeout: '360' } });
  opened = t;
  const { clock } = t.time;
  const ran: string[] = [];
  const events: LongshoreEvent[] = [];
  const how: { run: (ctx: HandlerContext) => unknown } = { run: () => null };
  const known = defineJob({
    name: 'known',
    queue: 'mail',
    payload: z.string(),
    retry: fixed(minute),
    timeoutMs: 60 * minute, // longer than a test lasts: an attempt whose function is killed must not come to its end
    handle(name, ctx) {
      ran.push(name);
      return how.run(ctx);
    },
  });
  const unknown = defineJob({ name: 'unknown', queue: 'mail', payload: z.string(), handle() {} });
  const app = createApp({ jobs: [known], signing, clock, on: (event) => events.push(event) });
  const newer = createApp({ jobs: [known, unknown], signing, clock });
  const store = memoryStore({ clock });
  const { worker } = lambda(app, { backend: t.backend, store, log: false });
  const client = connect(newer, t.backend, { store });
  const poller = createPoller({
    client: endpoint.client,
    url: t.url,
    arn: t.arn,
    clock,
    batchSize: 10,
    invoke: worker,
  });
  /** Of all that is in the queue, ready or hidden. */
  const kept = async (QueueUrl = t.url) => {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] });
    const { Attributes = {} } = await endpoint.client.send(command);
    const names = ['', 'NotVisible', 'Delayed'].map((end) => `ApproximateNumberOfMessages${end}`);
    return names.reduce((sum, name) => sum + Number(Attributes[name as 'QueueArn'] ?? 0), 0);
  };
  const letters = () => t.backend.admin!.deadLetters.list({});
  return { ...t, ran, events, how, known, unknown, worker, client, poller, kept, letters };
}

const context = { awsRequestId: '1', getRemainingTimeInMillis: () => minute };

describe('a message', () => {
  it('that is larger than an envelope may be is a dead letter', async () => {
    const t = await open();
    const MessageBody = `{"v":1,"payload":"${'x'.repeat(1_048_500)}"}`;
    await endpoint.client.send(
      new SendMessageCommand({ QueueUrl: t.url, MessageBody: `${MessageBody} `.padEnd(1_048_576) }),
    );
    expect(await t.poller.poll(minute)).toEqual({ taken: 1, done: 1, thrown: null });
    expect(await t.letters()).toMatchObject([
      { reason: 'rejected', error: expect.stringMatching(/^LIMIT: /) },
    ]);
    expect(await t.kept()).toBe(0);
  });

  it.runIf(timeIsOurs)(
    'of a job that is not known waits for a newer function, and is a dead letter when none comes',
    async () => {
      const t = await open();
      const { id } = await t.client.enqueue(t.unknown, 'a');
      const step = 8_000; // longer than the longest delay of a release: 5 s, spread by half
      for (let waited = 0; waited < 300_000; waited += step) {
        expect(await t.poller.poll(minute)).toMatchObject({ taken: 1, thrown: null });
        expect(await t.kept()).toBe(1);
        await t.time.advance(step);
      }
      await t.poller.poll(minute);
      expect(await t.letters()).toMatchObject([
        { id, reason: 'rejected', error: expect.stringMatching(/^UNKNOWN_JOB: /), attempt: 1 },
      ]);
      expect(await t.kept()).toBe(0);
    },
  );

  it.each([[undefined], [null]])('without any attribute runs, and counts from one: %s', async (none) => {
    const t = await open();
    await t.client.enqueue(t.known, 'bare');
    const [lease] = await t.fetch();
    const record = {
      messageId: 'm-1',
      receiptHandle: 'r-1',
      body: lease!.body,
      attributes: none,
      messageAttributes: none,
      eventSource: 'aws:sqs',
      eventSourceARN: t.arn,
    };
    expect(await t.worker({ Records: [record] }, context)).toEqual({ batchItemFailures: [] });
    expect(t.ran).toEqual(['bare']);
  });
});

describe('a group', () => {
  it.each([[''], ['x'.repeat(129)], ['ü'.repeat(50)]])(
    'that SQS does not take is refused, and the other messages are sent: "%s"',
    async (group) => {
      const t = await open();
      const results = await t.backend.enqueue([
        t.message(),
        t.message({ group }),
        t.message({ group: 'ü 1' }),
      ]);
      expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
      expect(results[1]).toMatchObject({
        error: { code: 'OPTION', message: expect.stringMatching(/group has 1 to 128 characters/) },
      });
    },
  );
});

describe('a change of the visibility that SQS refuses', () => {
  const settleWith = async (Message: string) => {
    const t = await open();
    t.how.run = () => Promise.reject(new Error('not now'));
    await t.client.enqueue(t.known, 'a');
    refusal = { Id: '0', Code: 'InvalidParameterValue', Message, SenderFault: true };
    const polled = await t.poller.poll(minute);
    expect(polled).toEqual({ taken: 1, done: 0, thrown: null });
    return t.events.filter((event) => event.type === 'backend.failed');
  };

  it('is reported, because the message comes back at another time than it should', async () => {
    const failures = await settleWith(
      'Total VisibilityTimeout for the message is beyond the limit [43200 seconds]',
    );
    expect(failures).toMatchObject([
      { during: 'settling', error: { code: 'BACKEND', message: expect.stringMatching(/beyond the limit/) } },
    ]);
  });

  it('is no failure of the service where the delivery is over', async () => {
    const Message = 'Value r for parameter ReceiptHandle is invalid. Reason: Message does not exist.';
    expect(await settleWith(Message)).toEqual([]);
  });
});

describe('an event', () => {
  it.each([
    [null],
    [undefined],
    ['text'],
    [{}],
    [{ Records: 'none' }],
    [{ Records: [null] }],
    [{ Records: [{ eventSource: 'aws:s3', s3: {} }] }],
    [{ Records: [{ eventSource: 'aws:sqs', messageId: 'm', body: '{}', eventSourceARN: 'arn' }] }],
    [{ version: '2.0', rawPath: '/', requestContext: {} }],
    [
      {
        Records: [
          { eventSource: 'aws:sqs', messageId: 'm', receiptHandle: 'r', body: '{}', eventSourceARN: 'arn' },
        ],
      },
    ],
  ])('that is none of ours is thrown back whole: %o', async (event) => {
    const t = await open();
    await expect(t.worker(event, context)).rejects.toMatchObject({ code: 'CONFIG' });
    expect(t.ran).toEqual([]);
  });

  it('without messages is no failure', async () => {
    const t = await open();
    expect(await t.worker({ Records: [] }, context)).toEqual({ batchItemFailures: [] });
  });
});

describe('a receipt that has expired', () => {
  it.runIf(timeIsOurs).each([
    ['a success', () => null],
    ['a failure', () => Promise.reject(new Error('not now'))],
    ['a permanent failure', () => Promise.reject(new PermanentError('never'))],
  ])('leaves the message with its new owner: %s', async (_, end) => {
    const t = await open();
    await t.client.enqueue(t.known, 'slow');
    t.how.run = async () => {
      await t.time.advance(10 * minute); // far beyond the function's time, and the visibility
      return end();
    };
    const polled = await t.poller.poll(minute);
    expect(polled.done).toBe(0);
    t.how.run = () => null;
    expect(await t.kept()).toBe(1);
    expect(await t.letters()).toEqual([]);
    await t.time.advance(minute);
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 1, done: 1 });
  });
});

describe('a role without a permission', () => {
  it.runIf(timeIsOurs).each([
    [
      'SendMessageBatchCommand',
      () => Promise.reject(new PermanentError('never')),
      /sqs:SendMessage, also on the dead-letter queue/,
    ],
    ['DeleteMessageBatchCommand', () => Promise.reject(new PermanentError('never')), /sqs:DeleteMessage/],
    [
      'ChangeMessageVisibilityBatchCommand',
      () => Promise.reject(new Error('not now')),
      /sqs:ChangeMessageVisibility/,
    ],
  ])('keeps what it cannot settle, and says what to grant: %s', async (command, run, message) => {
    const t = await open();
    t.how.run = run;
    await t.client.enqueue(t.known, 'a');
    denied = [command];
    expect(await t.poller.poll(minute)).toEqual({ taken: 1, done: 0, thrown: null });
    const failures = t.events.filter((event) => event.type === 'backend.failed');
    expect(failures).toMatchObject([{ error: { code: 'CONFIG', message: expect.stringMatching(message) } }]);
    denied = [];
    expect(await t.kept()).toBe(1);
    await t.time.advance(7 * minute);
    t.how.run = () => null;
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 1, done: 1 });
    expect(t.ran).toEqual(['a', 'a']);
  });

  it('stops a polling worker at its start, before it takes a job', async () => {
    const t = await open();
    await t.client.enqueue(t.known, 'a');
    denied = ['GetQueueAttributesCommand'];
    await expect(t.fetch()).rejects.toMatchObject({ code: 'CONFIG' });
    denied = ['ReceiveMessageCommand'];
    await expect(t.fetch()).rejects.toMatchObject({ code: 'CONFIG' });
    denied = [];
    expect(await t.fetch()).toMatchObject([{ attempt: 1 }]);
  });

  it('fails an enqueue', async () => {
    const t = await open();
    denied = ['SendMessageBatchCommand'];
    await expect(t.client.enqueue(t.known, 'a')).rejects.toMatchObject({ code: 'CONFIG' });
  });
});

describe('a dead-letter queue that is not there', () => {
  it.runIf(timeIsOurs)('leaves a dead job in its queue until there is one', async () => {
    const t = await open();
    await endpoint.deleteQueue(t.deadLetterUrl);
    await endpoint.client.send(new SendMessageCommand({ QueueUrl: t.url, MessageBody: 'forged' }));
    expect(await t.poller.poll(minute)).toEqual({ taken: 1, done: 0, thrown: null });
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'backend.failed', error: expect.objectContaining({ code: 'CONFIG' }) }),
    );
    await endpoint.createQueue(new URL(t.deadLetterUrl).pathname.split('/').at(-1)!);
    await t.time.advance(7 * minute);
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 1, done: 1 });
    expect(await t.letters()).toHaveLength(1);
  });
});

describe('a function that was killed', () => {
  it.runIf(timeIsOurs)('leaves its job to another invocation, which learns of it', async () => {
    const t = await open();
    const crashed: boolean[] = [];
    t.how.run = ({ attempt, previouslyCrashed }) => {
      crashed.push(previouslyCrashed);
      if (attempt === 1) return new Promise(() => {}); // until its function is killed
      if (attempt === 2) throw new Error('not now');
      return null;
    };
    await t.client.enqueue(t.known, 'a');
    const killed = createPoller({
      client: endpoint.client,
      url: t.url,
      arn: t.arn,
      clock: t.time.clock,
      batchSize: 10,
      invoke: async (event) => {
        void t.worker(event, { ...context, getRemainingTimeInMillis: () => 1_000 * minute });
        await vi.waitFor(() => expect(crashed).toHaveLength(1));
        throw new Error('killed');
      },
    });
    expect(await killed.poll(minute)).toMatchObject({ taken: 1, done: 0 });
    for (let i = 0; i < 2; i++) {
      await t.time.advance(6 * minute);
      await t.poller.poll(minute);
    }
    expect(crashed).toEqual([false, true, false]);
    expect(await t.kept()).toBe(0);
  });
});
