/** The three functions, closer than the laws look. */

import type { SQSHandler } from 'aws-lambda';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { alert, defineAlerts, sendTo } from '../../../core/features/alerts/index.ts';
import {
  connect,
  createApp,
  defineJob,
  defineSchedule,
  fixed,
  type HandlerContext,
  keyRing,
  type LongshoreEvent,
} from '../../../core/index.ts';
import { type LambdaOptions, lambda } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { type BenchOptions, benchesHere } from './bench.ts';
import { timeIsOurs } from './endpoint.ts';

const benches = benchesHere();

const minute = 60_000;

async function open(options: Partial<LambdaOptions> = {}, queue: BenchOptions = {}) {
  const bench = await benches.open({ attributes: { VisibilityTimeout: '360' }, ...queue });
  const { clock } = bench.time;
  const ran: string[] = [];
  const events: LongshoreEvent[] = [];
  const behaviour = new Map<string, (ctx: HandlerContext) => unknown>();
  const told: string[] = [];
  const job = defineJob({
    name: 'job',
    queue: 'mail',
    payload: z.object({ name: z.string() }),
    retry: fixed(minute),
    timeoutMs: 20_000,
    async handle({ name }, ctx) {
      ran.push(`${name}#${ctx.attempt}`);
      return behaviour.get(name)?.(ctx);
    },
  });
  const ping = (kind: string) => void told.push(kind);
  const app = createApp({
    jobs: [job],
    schedules: [
      defineSchedule({ name: 'hourly', cron: '0 * * * *', job, payload: { name: 'hourly' }, ping }),
    ],
    alerts: defineAlerts({
      to: sendTo((notices) => void told.push(...notices.map(({ alert, state }) => `${state} ${alert}`))),
      rules: [alert.backlog({ above: 0, forMs: 0 }), alert.withoutWorker({ forMs: 0 })],
    }),
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    clock,
    on: (event) => events.push(event),
  });
  const store = memoryStore({ clock });
  const { backend, url, arn } = bench;
  const functions = lambda(app, { backend, store, log: false, ...options });
  const { client } = benches.endpoint;
  const poller = createPoller({ client, url, arn, clock, batchSize: 10, invoke: functions.worker });
  const http = functions.enqueue;
  const own = connect(app, backend, { store });
  const enqueue = (name: string, group?: string) =>
    own.enqueue(job, { name }, group === undefined ? {} : { group });
  return {
    ...bench,
    ...functions,
    app,
    client: own,
    store,
    job,
    ran,
    events,
    behaviour,
    told,
    poller,
    http,
    enqueue,
  };
}

afterEach(() => vi.unstubAllEnvs());

describe('worker', () => {
  it('fits the type that AWS publishes, and takes two parameters', async () => {
    const { worker } = await open();
    const typed: SQSHandler = worker;
    expect(typed.length).toBeLessThanOrEqual(2);
  });

  it('runs at most `concurrency` jobs of an event at a time', async () => {
    const t = await open({ concurrency: 3 });
    let running = 0;
    let peak = 0;
    for (let i = 0; i < 10; i++) {
      t.behaviour.set(`${i}`, async () => {
        peak = Math.max(peak, ++running);
        await new Promise(setImmediate);
        running--;
      });
      await t.enqueue(`${i}`);
    }
    expect(await t.poller.poll(minute)).toEqual({ taken: 10, done: 10, thrown: null });
    expect(peak).toBe(3);
  });

  it.runIf(timeIsOurs)('writes what happens to a job into the store', async () => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'shop-worker');
    vi.stubEnv('AWS_LAMBDA_LOG_STREAM_NAME', '2026/11/23/[$LATEST]0af7');
    const who = { worker: 'shop-worker', host: '2026/11/23/[$LATEST]0af7' };
    const t = await open();
    t.behaviour.set('a', ({ attempt }) => {
      if (attempt === 1) throw new Error('not now');
      return 'sent';
    });
    const { id } = await t.enqueue('a');
    expect(await t.client.status(id)).toMatchObject({ status: 'pending', attempts: [] });
    await t.poller.poll(minute);
    expect(await t.client.status(id)).toMatchObject({ status: 'retrying' });
    await t.time.advance(minute);
    await t.poller.poll(minute);
    expect(await t.client.status(id)).toMatchObject({
      status: 'completed',
      output: 'sent',
      attempts: ['requeued', 'acked'].map((outcome) => ({ outcome, ...who })),
    });
  });

  it('makes no request of its own for jobs that succeed', async () => {
    const t = await open();
    for (let i = 0; i < 10; i++) await t.enqueue(`${i}`);
    t.requests.clear();
    await t.poller.poll(minute);
    expect(Object.keys(Object.fromEntries(t.requests)).sort()).toEqual([
      'DeleteMessageBatchCommand', // the poller's
      'ReceiveMessageCommand',
    ]);
  });

  it.runIf(timeIsOurs)(
    'refuses messages of a queue that is not its own, and none of them is lost',
    async () => {
      const t = await open();
      await t.enqueue('a');
      const arn = 'arn:aws:sqs:eu-central-1:000000000000:other';
      const { clock } = t.time;
      const { client } = benches.endpoint;
      const other = createPoller({ client, url: t.url, arn, clock, batchSize: 10, invoke: t.worker });
      const { thrown, ...rest } = await other.poll(minute);
      expect(rest).toEqual({ taken: 1, done: 0 });
      expect(thrown).toMatchObject({ code: 'CONFIG', message: expect.stringContaining(arn) });
      await t.time.advance(6 * minute);
      expect(await t.poller.poll(minute)).toMatchObject({ done: 1 });
    },
  );

  it('runs a message again that Lambda delivers twice, and answers for both', async () => {
    const t = await open();
    await t.enqueue('a');
    let event: { Records: unknown[] } | null = null;
    const { client } = benches.endpoint;
    const { clock } = t.time;
    const poller = createPoller({
      client,
      url: t.url,
      arn: t.arn,
      clock,
      batchSize: 10,
      invoke: (given, context) => {
        event = given as { Records: unknown[] };
        return t.worker({ Records: [...event.Records, ...event.Records] }, context);
      },
    });
    expect(await poller.poll(minute)).toEqual({ taken: 1, done: 1, thrown: null });
    expect(t.ran).toEqual(['a#1', 'a#1']); // without an idempotency key nothing says that they are one
  });

  it('renews where the visibility is shorter than the function may run', async () => {
    const t = await open({ visibilityMs: 30_000 }, { attributes: { VisibilityTimeout: '30' } });
    let finish: () => void = () => {};
    t.behaviour.set('long', () => new Promise<void>((resolve) => (finish = resolve)));
    await t.enqueue('long');
    const call = t.poller.poll(5 * minute);
    while (t.ran.length < 1) await new Promise(setImmediate);
    const hidden = () => t.requests.get('ChangeMessageVisibilityBatchCommand') ?? 0;
    for (let renewal = 1; renewal <= 1; renewal++) {
      await t.time.advance(10_000);
      while (hidden() < renewal) await new Promise(setImmediate);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    await t.time.advance(9_000);
    expect(await t.fetch()).toEqual([]);
    finish();
    expect(await call).toEqual({ taken: 1, done: 1, thrown: null });
  });

  it('ends a job that is cancelled while it runs', async () => {
    const t = await open();
    t.behaviour.set('a', () => new Promise(() => {}));
    const { id } = await t.enqueue('a');
    const asked: string[][] = [];
    t.store.records.cancelRequested = async (ids) => {
      asked.push([...ids]);
      return [...ids];
    };
    const call = t.poller.poll(minute);
    while (t.ran.length < 1) await new Promise(setImmediate);
    await t.time.advance(2_000);
    expect(await call).toEqual({ taken: 1, done: 1, thrown: null });
    expect(asked).toEqual([[id]]);
    expect(await t.backend.admin!.deadLetters.list({})).toEqual([]);
  });

  it.runIf(timeIsOurs)(
    'keeps the order of a FIFO group, lets the other groups go on, and spends no attempt on those that wait',
    async () => {
      const t = await open({}, { fifo: true });
      t.behaviour.set('a1', () => {
        throw new Error('not now');
      });
      for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) await t.enqueue(name, name[0]);
      expect(await t.poller.poll(minute)).toEqual({ taken: 5, done: 2, thrown: null });
      expect(t.ran.toSorted()).toEqual(['a1#1', 'b1#1', 'b2#1']);
      expect(await t.poller.poll(minute)).toMatchObject({ taken: 0 });
      t.behaviour.clear();
      await t.time.advance(minute);
      expect(await t.poller.poll(minute)).toEqual({ taken: 3, done: 3, thrown: null });
      expect(t.ran.slice(3)).toEqual(['a1#2', 'a2#1', 'a3#1']);
    },
  );
});

describe('schedule', () => {
  it.runIf(timeIsOurs)('enqueues what is due, once, and says which', async () => {
    const t = await open();
    expect(await t.schedule()).toEqual({ enqueued: [] });
    await t.time.advance(60 * minute);
    const { enqueued } = await t.schedule();
    expect(enqueued).toHaveLength(1);
    expect(await t.schedule()).toEqual({ enqueued: [] });
    expect(await t.poller.poll(minute)).toMatchObject({ done: 1 });
    expect(t.ran).toEqual(['hourly#1']);
  });

  it.runIf(timeIsOurs)('looks at the alerts, and the run of a schedule pings its monitor', async () => {
    const t = await open();
    await t.schedule();
    await t.time.advance(60 * minute);
    await t.schedule();
    await t.poller.poll(minute);
    await t.time.advance(minute);
    await t.schedule();
    expect(t.told).toEqual(['firing QueueBacklogHigh', 'start', 'success', 'resolved QueueBacklogHigh']);
  });

  it.runIf(timeIsOurs)('answers for the jobs of a schedule whose monitor hangs', async () => {
    const t = await open();
    await t.schedule();
    await t.time.advance(60 * minute);
    await t.schedule();
    const pinged = t.app.pinged as Map<string, (typeof t.app.schedules)[number]>;
    pinged.set('hourly', { ...t.app.schedules[0]!, ping: () => new Promise(() => {}) });
    const polling = t.poller.poll(minute);
    await vi.waitFor(() => expect(t.ran).toEqual(['hourly#1']), { timeout: 60_000 });
    for (let i = 0; i < 10; i++) await t.time.advance(1_000);
    expect(await polling).toMatchObject({ taken: 1, done: 1 });
  });

  it.runIf(timeIsOurs)('rolls numbers up, in one minute of ten', async () => {
    const t = await open();
    await t.enqueue('a');
    await t.poller.poll(minute);
    const hours = () => t.store.metrics!.read({ step: 'hour', from: 0, to: Number.MAX_SAFE_INTEGER });
    await t.time.advance(123 * minute);
    await t.schedule();
    expect(await hours()).toEqual([]);
    await t.time.advance(7 * minute);
    await t.schedule();
    expect((await hours()).map(({ queue, job }) => [queue, job])).toEqual([['mail', 'job']]);
  });

  it.runIf(timeIsOurs)('throws when a schedule has failed, so that Lambda repeats it', async () => {
    const t = await open();
    await t.schedule();
    await t.time.advance(60 * minute);
    await benches.endpoint.deleteQueue(t.url);
    await expect(t.schedule()).rejects.toMatchObject({
      code: 'BACKEND',
      message: expect.stringMatching(/These schedules failed: hourly.*does not exist/),
    });
    await benches.endpoint.createQueue(new URL(t.url).pathname.split('/').at(-1)!);
    expect((await t.schedule()).enqueued).toHaveLength(1);
  });
});

describe('enqueue', () => {
  const event = (path: string, change: object = {}) => ({
    version: '2.0',
    rawPath: path,
    rawQueryString: '',
    headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
    requestContext: { domainName: 'abc.lambda-url.eu-central-1.on.aws', http: { method: 'POST' } },
    isBase64Encoded: false,
    ...change,
  });
  const authorize = ({ headers }: Request) =>
    headers.get('authorization') === 'Bearer good' ? { tenantId: null, actorId: 'tester' } : null;

  it('takes a job by a function URL, also in base64', async () => {
    const t = await open({ authorize });
    for (const isBase64Encoded of [false, true]) {
      const text = JSON.stringify({ name: `base64 ${isBase64Encoded}` });
      const body = isBase64Encoded ? Buffer.from(text).toString('base64') : text;
      const answer = await t.http(event('/jobs/job', { body, isBase64Encoded }));
      expect(answer).toMatchObject({ statusCode: 202, isBase64Encoded: false });
      expect(answer.headers['content-type']).toBe('application/json');
      expect(JSON.parse(answer.body)).toMatchObject({ queue: 'mail' });
    }
    await t.poller.poll(minute);
    expect(t.ran.sort()).toEqual(['base64 false#1', 'base64 true#1']);
  });

  it('passes the query on and answers strangers with 401', async () => {
    const t = await open({ authorize });
    const body = '{"name":"later"}';
    const rawQueryString = 'delayMs=60000';
    expect((await t.http(event('/jobs/job', { body, rawQueryString }))).statusCode).toBe(202);
    expect(await t.fetch()).toEqual([]);
    expect((await t.http(event('/jobs/job', { body, headers: {} }))).statusCode).toBe(401);
  });

  it('waits for a result, and says that SQS finds no message by its id', async () => {
    const t = await open({ authorize });
    const { id } = JSON.parse((await t.http(event('/jobs/job', { body: '{"name":"a"}' }))).body);
    const by = (method: string, path: string, change: object = {}) =>
      t.http(
        event(`/jobs/${id}${path}`, { requestContext: { domainName: 'x', http: { method } }, ...change }),
      );
    expect((await by('PATCH', '', { body: '{"priority":1}' })).statusCode).toBe(501);
    expect((await by('POST', '/promote')).statusCode).toBe(501);
    expect((await by('GET', '/result')).statusCode).toBe(202);
    await t.poller.poll(minute);
    const ended = await by('GET', '/result', { rawQueryString: 'timeoutMs=1000' });
    expect([ended.statusCode, JSON.parse(ended.body)]).toMatchObject([200, { id, status: 'completed' }]);
  });

  it('does not start without saying who may call', async () => {
    const t = await open();
    await expect(t.http(event('/jobs/job'))).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/exactly one of apiKeys, authorize/),
    });
  });

  it.each(['TRACE', 'connect'])('answers a method that no request can have with 405: %s', async (method) => {
    const t = await open({ authorize });
    const requestContext = { domainName: 'abc.lambda-url.eu-central-1.on.aws', http: { method } };
    expect(await t.http(event('/jobs/job', { requestContext }))).toMatchObject({ statusCode: 405 });
  });

  it.each([[undefined], [{}], [{ version: '1.0', path: '/jobs/job', httpMethod: 'POST' }]])(
    'refuses what is no event of format 2.0: %o',
    async (other) => {
      const t = await open({ authorize });
      await expect(t.http(other)).rejects.toMatchObject({ code: 'CONFIG' });
    },
  );
});

describe('the log', () => {
  it('is one line of JSON per event, without payloads', async () => {
    const lines: string[] = [];
    const t = await open({ log: (line) => void lines.push(line) });
    t.behaviour.set('secret name', () => {
      throw new Error('not now');
    });
    await t.enqueue('secret name');
    await t.poller.poll(minute);
    expect(lines.every((line) => line.endsWith('\n') && !line.includes('secret name'))).toBe(true);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'debug', event: 'job.started', queue: 'mail', attempt: 1 },
      { level: 'warn', event: 'job.settled', outcome: 'requeued', error: 'HANDLER: not now' },
    ]);
  });
});
