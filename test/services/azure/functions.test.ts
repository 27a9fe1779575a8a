/** The functions, closer than the laws look. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import {
  createApp,
  defineJob,
  defineSchedule,
  type HandlerContext,
  keyRing,
  PermanentError,
} from '../../../core/index.ts';
import { type AzureOptions, azure } from '../../../functions/azure/index.ts';
import { accessFrom, resolved } from '../../../functions/azure/settings.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { startFunctions } from '../../../local/simulate/functions/host.ts';
import { auditEntry } from '../../testing/laws/audit-entry.ts';
import { type FunctionAppKit, functionAppsHere, minute } from './kit.ts';

const open = functionAppsHere();

const signing = keyRing([{ kid: 'test', secret: new Uint8Array(32).fill(5) }]);
const jobIn = (queue: string) =>
  defineJob({ name: `job-of-${queue}`, queue, payload: z.null(), async handle() {} });
const appWith = (...queues: string[]) => createApp({ jobs: queues.map(jobIn), signing });
const register = (app: ReturnType<typeof createApp>, options: Partial<AzureOptions> = {}) =>
  startFunctions(() =>
    azure(app, { connection: 'SERVICEBUS_CONNECTION', store: memoryStore(), log: false, ...options }),
  );

afterEach(() => vi.unstubAllEnvs());

describe('azure()', () => {
  it('registers these functions, with these bindings', async () => {
    const job = jobIn('mail');
    const every = { cron: '0 2 * * *', timezone: 'Europe/Berlin', job, payload: null } as const;
    const app = createApp({
      jobs: [job, jobIn('reports.daily')],
      schedules: [defineSchedule({ name: 'nightly', ...every })],
      signing,
    });
    const host = await register(app, { apiKeys: [{ id: 'ops', key: 'k'.repeat(32) }] });
    expect(host.functions.map(({ name, bindings }) => ({ name, bindings }))).toMatchSnapshot();
  });

  it('registers the timers for an app without schedules too, and no HTTP where nobody may call', async () => {
    const names = (await register(appWith('mail'))).functions.map(({ name }) => name);
    expect(names).toEqual(['longshore-worker-mail', 'longshore-schedule', 'longshore-purge']);
  });

  it('takes names of the namespace for queues, which may be settings', async () => {
    const { functions } = await register(appWith('mail', 'reports'), {
      queues: { mail: 'shop-mail', reports: '%REPORTS_QUEUE%' },
    });
    const names = functions.flatMap(({ bindings }) =>
      Object.values(bindings).map(({ queueName }) => queueName),
    );
    expect(names.filter((name) => name !== undefined)).toEqual(['shop-mail', '%REPORTS_QUEUE%']);
    const env = { REPORTS_QUEUE: 'shop-reports' };
    expect(resolved({ mail: 'shop-mail', reports: '%REPORTS_QUEUE%' }, env)).toEqual({
      mail: 'shop-mail',
      reports: 'shop-reports',
    });
    expect(() => resolved({ mail: '%REPORTS_QUEUE%' }, {})).toThrow(/setting REPORTS_QUEUE/);
  });

  it('registers although nothing that it needs is there yet: no setting, no key, no store', async () => {
    const host = await register(appWith('mail'), {
      store() {
        throw new Error('DATABASE_URL is missing');
      },
    });
    expect(host.functions).toHaveLength(3);
  });

  it.each([
    ['no connection', { connection: undefined }, /name of a setting/],
    [
      'a connection string for its name',
      { connection: 'Endpoint=sb://shop.servicebus.windows.net/;' },
      /name of a setting/,
    ],
    ['a name of a queue that Service Bus refuses', { queues: { mail: 'a b' } }, /Service Bus allows/],
    ['two queues of one name', { queues: ['a.b', 'a_b'] }, /function longshore-worker-a_b/],
    ['a time that is none', { functionTimeoutMs: -1 }, /functionTimeoutMs/],
    ['more time to end than the host gives', { drainMs: 3_001 }, /at most 3000.*5 seconds/],
  ])('refuses %s', async (_, options, message) => {
    await expect(register(appWith('mail'), options as never)).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(message),
    });
  });

  it('never shows a connection string that was given for a name', async () => {
    const secret = 'Endpoint=sb://x/;SharedAccessKeyName=a;SharedAccessKey=c2VjcmV0';
    await expect(register(appWith('mail'), { connection: secret })).rejects.toMatchObject({
      message: expect.not.stringContaining('c2VjcmV0'),
    });
  });
});

describe('the settings of a connection', () => {
  const credential = { getToken: async () => null };
  it('hold a connection string, or a namespace for an identity', () => {
    const connectionString =
      'Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=a;SharedAccessKey=b';
    expect(accessFrom('SB', undefined, { SB: connectionString })).toEqual({ connectionString });
    const fullyQualifiedNamespace = 'shop.servicebus.windows.net';
    const env = { SB__fullyQualifiedNamespace: fullyQualifiedNamespace };
    expect(accessFrom('SB', credential, env)).toEqual({ fullyQualifiedNamespace, credential });
  });

  it.each([
    [{}, undefined, /setting SB .* got neither/],
    [{ SB__fullyQualifiedNamespace: 'shop.servicebus.windows.net' }, undefined, /needs an identity/],
    [{ SB__fullyQualifiedNamespace: 'https://shop' }, credential, /like shop\.servicebus\.windows\.net/],
    [{ SB: 'shop.servicebus.windows.net' }, undefined, /connectionString to be like/],
    [{ SB: 'Endpoint=sb://shop.servicebus.windows.net/;EntityPath=mail' }, undefined, /single queue/],
  ])('refuse %j', (env, given, message) => {
    expect(() => accessFrom('SB', given, env as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
  });
});

const fail = () => {
  throw new Error('no');
};

describe('the worker', () => {
  it('sends a retry as a copy that is named after its attempt, and completes', async () => {
    const t = await open();
    const id = await t.enqueue('a');
    t.behaviour.set('a', fail);
    const [call] = await t.trigger.poll('mail');
    expect(call!.end).toBe('completed');
    const [copy] = t.server.queue('mail').peek(0, 10);
    expect([copy!.sent.messageId, copy!.state]).toEqual([`${id}:1`, 'scheduled']);
    expect(copy!.sent.notBefore).toBe(t.clock.now() + minute);
    expect(copy!.properties['longshore.attempts']).toBe('1');
  });

  it('does not run a job again whose copy was sent before its host was killed', async () => {
    const t = await open();
    await t.enqueue('a');
    t.behaviour.set('a', fail);
    const complete = t.server.queue('mail').complete;
    // The host dies when it is about to complete: the message stays locked until its lock ends.
    Object.assign(t.server.queue('mail'), { complete: () => false });
    expect((await t.trigger.poll('mail')).map(({ end }) => end)).toEqual(['lock lost']);
    Object.assign(t.server.queue('mail'), { complete });
    t.behaviour.delete('a');
    t.clock.advance(minute);
    while ((await t.trigger.poll('mail')).length > 0);
    t.clock.advance(10 * minute);
    while ((await t.trigger.poll('mail')).length > 0);
    expect(t.ran).toEqual(['a', 'a']);
    expect(t.settledAs()).toEqual(['requeued 1', 'acked 2']);
    expect(t.server.bodies('mail')).toEqual([]);
  });

  it('leaves one dead letter of a job whose host was killed after it was sent', async () => {
    const t = await open();
    await t.enqueue('a');
    t.behaviour.set('a', () => {
      throw new PermanentError('no');
    });
    const complete = t.server.queue('mail').complete;
    Object.assign(t.server.queue('mail'), { complete: () => false });
    expect((await t.trigger.poll('mail')).map(({ end }) => end)).toEqual(['lock lost']);
    Object.assign(t.server.queue('mail'), { complete });
    t.clock.advance(minute);
    while ((await t.trigger.poll('mail')).length > 0);
    expect(t.server.bodies('mail')).toEqual([]);
    expect(t.server.bodies('mail-failed')).toHaveLength(1);
    expect(t.ran, 'not once more: what is dead stays dead').toEqual(['a']);
    expect(t.settledAs()).toEqual(['dead-lettered 1']);
  });

  it('ends a job whose lock was lost half-way, sends no copy, and does not report it done', async () => {
    const t = await open();
    await t.enqueue('a');
    let begun: () => void;
    const running = new Promise<void>((resolve) => (begun = resolve));
    t.behaviour.set('a', ({ signal }: HandlerContext) => {
      begun();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const call = t.trigger.poll('mail');
    await running;
    t.clock.advance(minute); // nobody has renewed it
    const [{ end, thrown } = {} as never] = await call;
    expect([end, (thrown as { code: string }).code]).toEqual(['lock lost', 'LEASE_LOST']);
    expect(t.server.bodies('mail')).toHaveLength(1);
    t.behaviour.delete('a');
    expect((await t.trigger.poll('mail')).map((one) => one.end)).toEqual(['completed']);
    expect(t.settledAs().at(-1)).toBe('acked 2');
  });

  it('keeps a long job while the host renews its lock', async () => {
    const t = await open();
    await t.enqueue('a');
    let finish: () => void = () => {};
    t.behaviour.set('a', () => new Promise<void>((resolve) => (finish = resolve)));
    const queue = t.server.queue('mail');
    const { renew } = queue;
    let renewals = 0;
    Object.assign(queue, { renew: (token: string) => [renew(token), renewals++][0] });
    const call = t.trigger.poll('mail');
    while (t.ran.length === 0) await new Promise(setImmediate);
    for (let passed = 1; passed <= 4; passed++) {
      t.clock.advance(minute / 3);
      while (renewals < passed) await new Promise(setImmediate);
      await new Promise((resolve) => setTimeout(resolve, 10)); // its answer is on the way
    }
    finish();
    expect((await call).map(({ end }) => end)).toEqual(['completed']);
    expect(t.settledAs()).toEqual(['acked 1']);
  });

  it('tells a job that was cancelled while it ran', async () => {
    const t = await open();
    const id = await t.enqueue('a');
    t.behaviour.set(
      'a',
      ({ signal }: HandlerContext) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const call = t.trigger.poll('mail');
    while (t.ran.length === 0) await new Promise(setImmediate);
    expect(await t.client.cancel(id)).toBe('cancelling');
    t.clock.advance(2_000);
    expect((await call).map(({ end }) => end)).toEqual(['completed']);
    expect((await t.client.status(id))?.status).toBe('cancelled');
    expect(await t.backend.admin!.deadLetters.list({})).toEqual([]);
  });

  it('logs into the call it belongs to, as JSON lines', async () => {
    const t = await open({ log: 'of the call' });
    await t.enqueue('a');
    t.behaviour.set('a', fail);
    await t.trigger.poll('mail');
    const lines = t.host.logs.map(({ level, text }) => [level, JSON.parse(text).event]);
    expect(lines).toEqual([
      ['trace', 'job.started'],
      ['warning', 'job.settled'],
    ]);
  });

  it('finishes running jobs when the host stops it, and releases the others without counting an attempt', async () => {
    const t = await open({ drainMs: 1_000 });
    for (const name of ['quick', 'slow']) await t.enqueue(name);
    let finish: () => void = () => {};
    t.behaviour.set('quick', () => new Promise<void>((resolve) => (finish = resolve)));
    t.behaviour.set('slow', () => new Promise(() => {}));
    const calls = t.trigger.poll('mail');
    while (t.ran.length < 2) await new Promise(setImmediate);
    let stopped = false;
    const stopping = t.host.terminate().then(() => (stopped = true));
    finish();
    for (let passed = 0; !stopped; passed += 50) {
      // When its time is over, nothing but the broker may take any.
      if (passed < 1_100 || t.settledAs().length === 2) t.clock.advance(50);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await stopping;
    expect((await calls).map(({ end }) => end)).toEqual(['completed', 'completed']);
    expect(t.settledAs()).toEqual(['acked 1', 'requeued 1']);
    t.behaviour.clear();
    await t.trigger.poll('mail');
    expect(t.settledAs().at(-1)).toBe('acked 1');
  });
});

describe('the timer', () => {
  const pings: string[] = [];
  const ping = (kind: string) => void pings.push(kind);
  const schedules = (job: FunctionAppKit['job']) => [
    defineSchedule({
      name: 'nightly',
      cron: '* * * * *',
      timezone: 'UTC',
      job,
      payload: { name: 'a' },
      ping,
    }),
  ];

  it('enqueues what is due, once, however many hosts tick', async () => {
    const t = await open({ schedules });
    await t.host.tick('longshore-schedule');
    t.clock.advance(minute);
    await Promise.all([t.host.tick('longshore-schedule'), t.host.tick('longshore-schedule')]);
    expect(t.server.bodies('mail')).toHaveLength(1);
    await t.trigger.poll('mail');
    expect(t.ran).toEqual(['a']);
    expect(pings).toEqual(['start', 'success']);
  });

  it('fails where a job could not be enqueued, for the alarms of the host', async () => {
    const t = await open({ schedules });
    await t.host.tick('longshore-schedule');
    t.clock.advance(minute);
    t.server.deleteQueue('mail');
    await expect(t.host.tick('longshore-schedule')).rejects.toMatchObject({ code: 'BACKEND' });
  });
});

describe('the record of an attempt', () => {
  it('names the function app and its instance', async () => {
    vi.stubEnv('WEBSITE_SITE_NAME', 'shop-jobs');
    vi.stubEnv('WEBSITE_INSTANCE_ID', 'b7ad6b71');
    const t = await open();
    const id = await t.enqueue('a');
    await t.trigger.poll('mail');
    const who = { worker: 'shop-jobs', host: 'b7ad6b71' };
    expect((await t.client.status(id))?.attempts).toMatchObject([who]);
  });
});

describe('the timer that purges', () => {
  it('removes what is past its retention, and leaves the rest', async () => {
    const t = await open();
    const id = await t.enqueue('a');
    await t.trigger.poll('mail');
    await t.enqueue('b');
    t.clock.advance(6 * 24 * 60 * minute);
    await t.host.tick('longshore-purge');
    expect(await t.client.status(id)).toMatchObject({ status: 'completed' });
    t.clock.advance(2 * 24 * 60 * minute);
    const before = t.store.records.purge;
    const steps: number[] = [];
    t.store.records.purge = async (...args) => {
      steps.push(await before(...args));
      return steps.at(-1)!;
    };
    await t.host.tick('longshore-purge');
    expect(steps).toEqual([1, 0]);
    expect((await t.store.records.page({})).records.map(({ status }) => status)).toEqual(['pending']);
  });

  it('removes what stands in the audit log for longer than 400 days', async () => {
    const t = await open();
    const audit = t.store.audit!;
    const days = [0, 400, 401];
    for (const ago of days) await audit.append(auditEntry(`${ago}`, t.clock.now() - ago * 24 * 60 * minute));
    await t.host.tick('longshore-purge');
    expect((await audit.page({})).entries.map(({ id }) => id)).toEqual(['0', '400']);
  });

  it('fails where the store does, for the alarms of the host', async () => {
    const t = await open({ store: () => ({ ...memoryStore(), records: undefined as never }) });
    await expect(t.host.tick('longshore-purge')).rejects.toMatchObject({ code: 'CONFIG' });
  });
});

describe('HTTP', () => {
  const key = 'k'.repeat(32);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const url = 'https://shop.azurewebsites.net/api';
  const apiKeys = [{ id: 'ops', key }];

  it('enqueues, shows and cancels a job', async () => {
    const t = await open({ apiKeys });
    const sent = await t.host.fetch(`${url}/jobs/mail.send?delayMs=60000`, {
      method: 'POST',
      headers,
      body: '{"name":"über"}',
    });
    expect(sent.status).toBe(202);
    const { id } = (await sent.json()) as { id: string };
    const shown = await t.host.fetch(`${url}/jobs/${id}`, { headers });
    expect(await shown.json()).toMatchObject({ id, status: 'pending' });
    const gone = await t.host.fetch(`${url}/jobs/${id}`, { method: 'DELETE', headers });
    expect(gone.status).toBeLessThan(300);
    t.clock.advance(minute);
    await t.trigger.poll('mail');
    expect(t.ran).toEqual([]);
  });

  it('refuses who has no key, and answers probes', async () => {
    const t = await open({ apiKeys });
    expect((await t.host.fetch(`${url}/jobs/mail.send`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect((await t.host.fetch(`${url}/healthz`)).status).toBe(200);
    expect((await t.host.fetch(`${url}/jobs`, { method: 'OPTIONS' })).status).toBe(204);
  });

  it('is mounted where host.json says', async () => {
    const t = await open({ apiKeys, routePrefix: '' });
    expect((await t.host.fetch('https://shop.azurewebsites.net/healthz')).status).toBe(200);
  });
});
