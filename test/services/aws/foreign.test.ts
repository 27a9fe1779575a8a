/** Events of other programs in a queue of the app: by a rule they are jobs, and without one they are rejected. */

import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { type ForeignRule, foreign, lambda, sqs } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { benchesHere } from './bench.ts';

const benches = benchesHere();

interface S3Event {
  readonly Records: readonly { readonly s3: { readonly object: { readonly key: string } } }[];
}

const bucket = 'arn:aws:s3:::uploads';
const topic = 'arn:aws:sns:us-east-1:000000000000:orders';
const s3Record = (arn: string, key: string) => ({
  eventSource: 'aws:s3',
  eventName: 'ObjectCreated:Put',
  s3: { bucket: { name: 'uploads', arn }, object: { key, size: 1 } },
});
const s3Event = (...records: unknown[]) => JSON.stringify({ Records: records });

type Rule<Body> = Omit<ForeignRule<Body, { key: string }>, 'job'>;
const s3Rule: Rule<S3Event> = {
  from: 's3',
  senders: [bucket],
  map: ({ Records }) => ({ key: Records[0]!.s3.object.key }),
};

type JobChange = { expiresInMs?: number; idempotencyKey?: (payload: { key: string }) => string | null };

async function open<Body>(rule: Rule<Body>, more: JobChange = {}) {
  const t = await benches.open({ attributes: { VisibilityTimeout: '360' } });
  const { clock } = t.time;
  const ran: string[] = [];
  const job = defineJob({
    name: 'upload.import',
    queue: 'mail',
    payload: z.object({ key: z.string().min(2) }),
    maxRetries: 1,
    ...more,
    handle({ key }, { id, attempt }) {
      ran.push(`${key}#${attempt}`);
      if (key === 'fails once' && attempt === 1) throw new Error('not now');
      return { id };
    },
  });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [job], signing, clock });
  const { client } = benches.endpoint;
  const backend = sqs({
    queues: { mail: t.url },
    client,
    clock,
    longPollMs: 1_000,
    foreign: { mail: foreign(app, { ...rule, job }) },
  });
  const store = memoryStore({ clock });
  const { worker } = lambda(app, { backend, store, log: false });
  return {
    ...t,
    app,
    backend,
    job,
    ran,
    store,
    own: connect(app, backend, { store }),
    poller: t.poller(worker),
    write: (MessageBody: string) => client.send(new SendMessageCommand({ QueueUrl: t.url, MessageBody })),
    letters: () => backend.admin.deadLetters.list({}),
  };
}

describe('a message of another program', () => {
  it('is a job with a record, when its sender may send and its payload fits the schema', async () => {
    const t = await open(s3Rule);
    await t.write(s3Event(s3Record(bucket, 'a.csv')));
    expect(await t.poller.poll(60_000)).toEqual({ taken: 1, done: 1, thrown: null });
    expect(t.ran).toEqual(['a.csv#1']);
    const [record] = (await t.store.records.page({})).records;
    expect(record).toMatchObject({
      id: expect.stringMatching(/^foreign-[0-9a-f]{32}$/),
      job: 'upload.import',
      status: 'completed',
    });
    expect(record!.output).toEqual({ id: record!.id });
  });

  it('is retried as that job, with its id', async () => {
    const t = await open(s3Rule);
    await t.write(s3Event(s3Record(bucket, 'fails once')));
    await t.poller.poll(60_000);
    await t.time.advance(60_000);
    await t.poller.poll(60_000);
    expect(t.ran).toEqual(['fails once#1', 'fails once#2']);
    expect((await t.store.records.page({})).records).toMatchObject([
      { status: 'completed', attempts: [{}, {}] },
    ]);
  });

  it('runs in a polling worker too, beside the jobs of the app', async () => {
    const t = await open(s3Rule);
    await t.write(s3Event(s3Record(bucket, 'a.csv')));
    await t.own.enqueue(t.job, { key: 'own' });
    const worker = startWorker(t.app, { backend: t.backend, store: t.store, untilIdle: true, signals: [] });
    expect((await worker.done).counts).toMatchObject({ acked: 2, rejected: 0 });
    expect(t.ran.toSorted()).toEqual(['a.csv#1', 'own#1']);
  });

  it.each([
    ['of another bucket', s3Event(s3Record('arn:aws:s3:::others', 'a.csv'))],
    [
      'of two buckets, one of them another',
      s3Event(s3Record(bucket, 'a.csv'), s3Record('arn:aws:s3:::others', 'b')),
    ],
    ['of another service', s3Event({ ...s3Record(bucket, 'a.csv'), eventSource: 'aws:sqs' })],
    ['without records', s3Event()],
    ['of another kind', JSON.stringify({ Type: 'Notification', TopicArn: bucket, Message: '{}' })],
    ['that is no JSON', 'a.csv'],
    ['that is null', 'null'],
    ['that map cannot read', s3Event({ ...s3Record(bucket, 'a.csv'), s3: { bucket: { arn: bucket } } })],
  ])('is rejected as ever: %s', async (_, text) => {
    const t = await open(s3Rule);
    await t.write(text);
    expect(await t.poller.poll(60_000)).toMatchObject({ taken: 1, done: 1 });
    expect(await t.letters()).toMatchObject([{ reason: 'rejected', body: text }]);
    expect(t.ran).toEqual([]);
  });

  it('that map cannot read is a dead letter that says what map threw', async () => {
    const t = await open({
      ...s3Rule,
      map: () => {
        throw new TypeError(`No key in it. ${'x'.repeat(1_000)}`);
      },
    });
    const text = s3Event(s3Record(bucket, 'a.csv'));
    await t.write(text);
    await t.poller.poll(60_000);
    const [letter] = await t.letters();
    expect(letter).toMatchObject({ reason: 'rejected', body: text });
    expect(letter!.error).toMatch(
      /^PAYLOAD: The rule of queue "mail" made no job "upload.import" of this message: No key in it. x+…$/,
    );
    expect(letter!.error.length).toBeLessThan(400);
  });

  it('whose map gives what is no JSON is a dead letter that says so', async () => {
    const t = await open({ ...s3Rule, map: () => ({ key: 1n as unknown as string }) });
    await t.write(s3Event(s3Record(bucket, 'a.csv')));
    await t.poller.poll(60_000);
    expect(await t.letters()).toMatchObject([
      {
        reason: 'rejected',
        error: expect.stringMatching(
          /made no job "upload.import" of this message: Expected plain JSON data at payload.key/,
        ),
      },
    ]);
  });

  it('expires as the job says, counted from when it was sent', async () => {
    const t = await open(s3Rule, { expiresInMs: 60_000 });
    await t.write(s3Event(s3Record(bucket, 'in time')));
    await t.time.advance(50_000);
    await t.poller.poll(60_000);
    await t.write(s3Event(s3Record(bucket, 'too late')));
    await t.time.advance(61_000);
    await t.poller.poll(60_000);
    expect(t.ran).toEqual(['in time#1']);
    expect(await t.letters()).toMatchObject([{ reason: 'expired' }]);
  });

  it('has the idempotency key of the job: of two events for one upload one runs', async () => {
    const t = await open(s3Rule, { idempotencyKey: ({ key }) => key });
    for (let i = 0; i < 2; i++) await t.write(s3Event(s3Record(bucket, 'a.csv')));
    await t.poller.poll(60_000);
    await t.time.advance(60_000);
    await t.poller.poll(60_000);
    expect(t.ran).toEqual(['a.csv#1']);
    expect(await t.letters()).toEqual([]);
  });

  it('has no key when its payload does not fit, and is rejected for that', async () => {
    const t = await open(s3Rule, { idempotencyKey: ({ key }) => key });
    await t.write(s3Event(s3Record(bucket, 'a')));
    await t.poller.poll(60_000);
    expect(await t.letters()).toMatchObject([{ error: expect.stringMatching(/^PAYLOAD: /) }]);
  });

  it('is rejected when its payload does not fit the schema', async () => {
    const t = await open(s3Rule);
    await t.write(s3Event(s3Record(bucket, 'a')));
    await t.poller.poll(60_000);
    expect(await t.letters()).toMatchObject([
      { reason: 'rejected', job: 'upload.import', error: expect.stringMatching(/^PAYLOAD: /) },
    ]);
    expect(t.ran).toEqual([]);
  });

  it('does not pass for one of the app by looking like it', async () => {
    const t = await open({ from: () => 'anybody', senders: ['anybody'], map: () => ({ key: 'taken' }) });
    const forged = `{"v":1,"job":"upload.import","payload":{"key":"ab"},"_sig":"${'0'.repeat(64)}"}`;
    await t.write(forged);
    await t.poller.poll(60_000);
    expect(await t.letters()).toMatchObject([{ reason: 'rejected', body: forged }]);
    expect(t.ran).toEqual([]);
  });
});

describe('a rule', () => {
  const text = (Message: string) => JSON.stringify({ Type: 'Notification', TopicArn: topic, Message });
  const event = { 'detail-type': 'Order placed', source: 'shop.orders', detail: { key: 'event' } };
  interface Notification {
    readonly Message: string;
  }

  it('takes notifications of SNS by their topic', async () => {
    const t = await open<Notification>({
      from: 'sns',
      senders: [topic],
      map: ({ Message }) => JSON.parse(Message),
    });
    await t.write(text('{"key":"sns"}'));
    await t.poller.poll(60_000);
    expect(t.ran).toEqual(['sns#1']);
  });

  it('takes events of EventBridge by their source', async () => {
    const map = ({ detail }: typeof event) => detail;
    const t = await open({ from: 'eventbridge', senders: ['shop.orders'], map });
    await t.write(JSON.stringify(event));
    await t.write(JSON.stringify({ ...event, source: 'shop.others' }));
    await t.poller.poll(60_000);
    expect(t.ran).toEqual(['event#1']);
    expect(await t.letters()).toHaveLength(1);
  });

  it('may know the sender of any other message', async () => {
    const from = (body: unknown) => (body as { sender?: string }).sender ?? null;
    const t = await open<{ key: string }>({ from, senders: ['erp'], map: ({ key }) => ({ key }) });
    for (const sender of ['erp', 'crm', undefined])
      await t.write(JSON.stringify({ sender, key: `by ${sender}` }));
    await t.poller.poll(60_000);
    expect(t.ran).toEqual(['by erp#1']);
    expect(await t.letters()).toHaveLength(2);
  });

  it.each([
    [{ from: 'toString' }, /from to be s3, sns, eventbridge or a function, got "toString"/],
    [{ senders: [] }, /senders to be a list of texts/],
    [{ senders: bucket }, /senders to be a list of texts/],
  ])('that could not work is refused: %o', async (change, message) => {
    const t = await open(s3Rule);
    expect(() => foreign(t.app, { ...s3Rule, job: t.job, ...(change as object) })).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
    const other = createApp({ jobs: [], signing: t.app.keyRing() });
    expect(() => foreign(other, { ...s3Rule, job: t.job })).toThrow(/expects a job of the app/);
    const queues = { mail: t.url };
    const rule = foreign(t.app, { ...s3Rule, job: t.job });
    expect(() => sqs({ queues, foreign: { male: rule } })).toThrow(/"male" to be among those given/);
  });
});
