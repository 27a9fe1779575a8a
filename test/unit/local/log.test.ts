import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { masked } from '../../../core/base/mask.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { eventLine } from '../../../local/cli/output/lines.ts';
import { createUi } from '../../../local/cli/output/ui.ts';
import { logTo } from '../../../local/log.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

async function linesOf(
  handle: Parameters<typeof defineJob>[0]['handle'],
): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).trim().split('\n')) lines.push(JSON.parse(line));
      done();
    },
  });
  const job = defineJob({
    name: 'mail.send',
    payload: z.object({ to: z.string(), password: z.string() }),
    maxRetries: 0,
    handle,
  });
  const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  app.events.on(logTo(pino({ level: 'debug' }, sink)));
  const backend = memory();
  const payload = { to: 'ada@example.com', password: 'hunter2-payload' };
  const context = { tenantId: 'acme', actorId: 'ada', requestId: 'r-1', traceparent };
  await connect(app, backend).enqueue(job, payload, { context });
  await startWorker(app, { backend, untilIdle: true }).done;
  return lines;
}

describe('log lines', () => {
  it('tell start and end of worker and job, with tenant, attempt, outcome and duration, and never the payload', async () => {
    const lines = await linesOf(async () => {});
    expect(lines.map(({ event }) => event)).toEqual([
      'worker.started',
      'job.started',
      'job.settled',
      'worker.draining',
      'worker.stopped',
    ]);
    expect(lines[2]).toMatchObject({
      level: 30,
      job: 'mail.send',
      queue: 'default',
      attempt: 1,
      tenantId: 'acme',
      actorId: 'ada',
      requestId: 'r-1',
      traceparent,
      outcome: 'acked',
      durationMs: expect.any(Number),
    });
    expect(lines[4]).toMatchObject({ reason: 'idle', counts: { acked: 1, requeued: 0 } });
    expect(JSON.stringify(lines)).not.toMatch(/hunter2|ada@example/);
  });

  it('tell of a job that only waits at debug, and for what', () => {
    const lines: Record<string, unknown>[] = [];
    const logger = pino({ level: 'debug' }, { write: (text) => void lines.push(JSON.parse(text)) });
    const job = { id: 'a', job: 'sync', queue: 'default', attempt: 1 };
    const none = {
      tenantId: null,
      actorId: null,
      requestId: null,
      traceparent: null,
      waitMs: null,
      reason: null,
      cause: null,
    };
    const wait = { outcome: 'requeued', settled: true, counted: false, durationMs: 1, delayMs: 500 } as const;
    const event = { type: 'job.settled', ...job, ...none, ...wait, error: null } as const;
    logTo(logger)({ ...event, waits: 'waits for job:sync:rate' });
    logTo(logger)({ ...event, waits: null, error: 'HANDLER: later' });
    expect(lines).toMatchObject([
      { level: 20, msg: 'sync waits for job:sync:rate', waits: 'waits for job:sync:rate' },
      { level: 40, msg: 'sync requeued', error: 'HANDLER: later' },
    ]);
    const ui = createUi({ colour: false, columns: null });
    expect(eventLine({ ...event, waits: 'waits for job:sync:rate' }, ui, 0)).toMatch(
      /· sync +waits for job:sync:rate, asks again in 500 ms$/,
    );
  });

  it('have the stack of an attempt that failed', async () => {
    const lines = await linesOf(async () => {
      throw new Error('no', { cause: new TypeError('why') });
    });
    const settled = lines.find(({ event }) => event === 'job.settled')!;
    expect(settled).toMatchObject({
      level: 50,
      error: 'HANDLER: no',
      stack: expect.stringMatching(/^Error: no\n +at .*log\.test\.ts.*caused by: TypeError: why/s),
    });
  });

  it('mask what handlers log under secret-looking names', async () => {
    const lines = await linesOf(async (_payload, ctx) => {
      ctx.log('calling', {
        url: 'https://api.example',
        headers: { Authorization: 'Bearer abc' },
        apiKey: 'abc',
      });
    });
    expect(lines.find(({ event }) => event === 'job.log')).toMatchObject({
      msg: 'calling',
      fields: { url: 'https://api.example', headers: { Authorization: '[masked]' }, apiKey: '[masked]' },
    });
  });

  it('mask fields on a terminal too', () => {
    const facts = {
      id: 'a',
      job: 'pay',
      queue: 'default',
      attempt: 1,
      tenantId: null,
      actorId: null,
      requestId: null,
      traceparent: null,
    };
    const event = { type: 'job.log', ...facts, message: 'calling', fields: { pin: '1234', n: 1 } } as const;
    const line = eventLine(event, createUi({ colour: false, columns: null }), 0);
    expect(line).toMatch(/pay +calling pin=\[masked\] n=1$/);
    const caused = { ...event, requestId: 'r-1', traceparent: '00-0af7-b7ad-01' };
    expect(eventLine(caused, createUi({ colour: false, columns: null }), 0)).toMatch(
      /n=1 request=r-1 traceparent=00-0af7-b7ad-01$/,
    );
  });

  it('are there whatever the fields are', async () => {
    const hostile = {
      big: [10n ** 20n],
      get boom(): never {
        throw new Error('a getter');
      },
    };
    const lines = await linesOf(async (_payload, ctx) => ctx.log('calling', hostile));
    const fields = { big: ['100000000000000000000'], boom: '[unreadable]' };
    expect(lines.find(({ event }) => event === 'job.log')).toMatchObject({ msg: 'calling', fields });
    const ids = { id: 'a', job: 'pay', queue: 'default', attempt: 1, tenantId: null };
    const facts = {
      ...ids,
      actorId: null,
      requestId: null,
      traceparent: null,
      message: 'calling',
      fields: hostile,
    };
    const line = eventLine({ type: 'job.log', ...facts }, createUi({ colour: false, columns: null }), 0);
    expect(line).toMatch(/pay +calling big=\["100000000000000000000"\] boom=\[unreadable\]$/);
  });

  it('say their text once', async () => {
    const lines = await linesOf(async (_payload, ctx) => ctx.log('calling', { message: 'of a field' }));
    const line = lines.find(({ event }) => event === 'job.log');
    expect(line).toMatchObject({ msg: 'calling', fields: { message: 'of a field' } });
    expect(line).not.toHaveProperty('message');
  });

  it('are errors when a job dies', async () => {
    const lines = await linesOf(async () => {
      throw new Error('mailbox full');
    });
    expect(lines[2]).toMatchObject({
      level: 50,
      outcome: 'dead-lettered',
      reason: 'exhausted',
      error: 'HANDLER: mailbox full',
    });
  });
});

describe('masked()', () => {
  it.each([
    'password',
    'dbPassword',
    'PASSWD',
    'secret',
    'clientSecret',
    'accessToken',
    'api_key',
    'API-KEY',
    'Set-Cookie',
    'private_key',
    'credentials',
    'pin',
    'pwd',
    'dbPwd',
    'jwt',
    'bearer',
    'connectionString',
    'connection_string',
    'sharedAccessKey',
    'AWS_ACCESS_KEY_ID',
    'dsn',
    'SENTRY_DSN',
    'otp',
    'sessionId',
    'csrf',
  ])('masks %s', (name) => expect(masked({ [name]: 'x' })).toEqual({ [name]: '[masked]' }));

  it.each(['tenantId', 'spinner', 'path', 'monkey', 'durationMs', 'dsnCount', 'laptops'])(
    'leaves %s',
    (name) => expect(masked({ [name]: 'x' })).toEqual({ [name]: 'x' }),
  );

  it('masks what toJSON gives, and keeps what is a text there', () => {
    class Account {
      toJSON() {
        return { name: 'ada', password: 'hunter2' };
      }
    }
    const broken = {
      toJSON() {
        throw new Error('no');
      },
    };
    const own = { password: 'x', toJSON: () => ({ token: 'hunter2' }) };
    expect(masked({ account: new Account(), at: new Date(0), own, broken })).toEqual({
      account: { name: 'ada', password: '[masked]' },
      at: '1970-01-01T00:00:00.000Z',
      own: { token: '[masked]' },
      broken: '[unreadable]',
    });
  });

  it('goes into lists, stops at cycles and keeps the original', () => {
    const original: Record<string, unknown> = { list: [{ token: 'x' }] };
    original.self = original;
    expect(masked(original)).toMatchObject({ list: [{ token: '[masked]' }] });
    expect(original.list).toEqual([{ token: 'x' }]);
  });
});
