/** What is particular to beanstalkd: refusals, times to run, lost connections, what others put or bury, and life without a store. */

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, fixed, keyRing, startWorker } from '../../../core/index.ts';
import { openConnection } from '../../../local/backends/beanstalkd/connection.ts';
import { type BeanstalkdOptions, beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { bytesOf } from '../../../local/backends/beanstalkd/replies.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { keepBusy } from '../../kit/busy.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message as bare } from '../sqlite/messages.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

let server: BeanstalkdServer;
let prefixes = 0;
beforeAll(async () => {
  server = await startBeanstalkd();
});
afterAll(() => server.remove());

const open = (options: Partial<BeanstalkdOptions> = {}) => {
  const prefix = `test-${++prefixes}-`;
  const backend = beanstalkd({ url: server.url, prefix, store: memoryStore(), ...options });
  return { backend, prefix, admin: backend.admin! };
};
const take = { queues: ['default'], max: 1_000, leaseMs: 60_000, waitMs: 0 };
/** With its id in the body, where lists find it. */
const message = (parts: Parameters<typeof bare>[0] & { id: string }) =>
  bare({ body: JSON.stringify({ identifier: parts.id }), ...parts });
const many = (count: number, parts: object = {}) =>
  Array.from({ length: count }, (_, i) => message({ id: `id-${i}`, ...parts }));
const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);

describe('a server that refuses', () => {
  it('in drain mode takes no new jobs, and lets go of those it has', async () => {
    const own = await startBeanstalkd();
    const { backend } = open({ url: own.url });
    await backend.enqueue(many(2));
    own.signal('SIGUSR1');
    await until(async () => !(await backend.enqueue([message({ id: 'new' })]))[0]!.ok);
    const [refused] = await backend.enqueue([message({ id: 'late' })]);
    expect(refused).toMatchObject({ ok: false, error: { code: 'READ_ONLY' } });
    const leases = await backend.fetch(take);
    expect(leases.length).toBeGreaterThanOrEqual(2);
    expect(await backend.nack(leases[0]!, { delayMs: 0, countAttempt: true })).toBe(true);
    expect(await backend.ack(leases.slice(1).map((lease) => ({ lease })))).not.toContain(false);
    await backend.close();
    await own.remove();
  });

  it('a job that is too big for it says so, and stores its neighbours', async () => {
    const { backend } = open({ maxBodyBytes: 200_000 });
    const big = message({ id: 'big', body: `{"text":"${'x'.repeat(100_000)}"}` });
    const results = await backend.enqueue([message({ id: 'a' }), big, message({ id: 'b' })]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(results[1]).toMatchObject({
      error: { code: 'LIMIT', message: expect.stringContaining('JOB_TOO_BIG') },
    });
    expect(await backend.fetch(take)).toHaveLength(2);
    await backend.close();
  });

  it('for want of memory says STORAGE_FULL, and goes on when there is some again', async () => {
    const own = await startBeanstalkd({ memoryKilobytes: 40_000, args: ['-z', '2000000'] });
    const { backend } = open({ url: own.url, maxBodyBytes: 2_000_000 });
    const body = `{"text":"${'x'.repeat(1_500_000)}"}`;
    const results = await backend.enqueue(many(40, { body }));
    const stored = results.filter(({ ok }) => ok).length;
    expect(stored).toBeGreaterThan(3);
    expect(results.find(({ ok }) => !ok)).toMatchObject({ error: { code: 'STORAGE_FULL' } });
    const leases = await backend.fetch(take);
    expect(leases).toHaveLength(stored);
    expect(await backend.ack(leases.map((lease) => ({ lease })))).not.toContain(false);
    expect(await backend.enqueue([message({ id: 'again', body })])).toMatchObject([{ ok: true }]);
    await backend.close();
    await own.remove();
  });

  it('or that is no beanstalkd fails the call, and nobody waits for it', async () => {
    const other = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    ).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const url = `beanstalk://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { backend } = open({ url });
    await expect(backend.fetch(take)).rejects.toMatchObject({ code: 'BACKEND' });
    expect(await backend.enqueue([message({ id: 'a' })])).toMatchObject([
      { ok: false, error: { code: 'BACKEND' } },
    ]);
    await backend.close();
    other.close();
    await once(other, 'close');
    const nobody = open({ url });
    await expect(nobody.backend.enqueue([message({ id: 'a' })])).rejects.toThrow(/Check that it runs/);
    await nobody.backend.close();
  });

  it.each([
    [{ url: '' }, 'beanstalk://127.0.0.1:11300'],
    [{ url: 'redis://127.0.0.1' }, 'beanstalk://127.0.0.1:11300'],
    [{ prefix: 'a b' }, 'prefix'],
    [{ prefix: '-a' }, 'prefix'],
    [{ ttrMs: 10 }, 'ttrMs'],
    [{ maxBodyBytes: 0 }, 'maxBodyBytes'],
  ])('wrong options are a CONFIG error: %o', (options, text) => {
    expect(() => open(options)).toThrow(text);
  });

  it('a name that no tube can have is a CONFIG error', async () => {
    const { backend } = open({ prefix: '' });
    await expect(backend.enqueue([message({ id: 'a', queue: '-a' })])).rejects.toMatchObject({
      code: 'CONFIG',
    });
    await backend.close();
  });
});

describe('a lease', () => {
  it('outlasts the time to run that its job was given', async () => {
    const { backend } = open({ ttrMs: 1_000 });
    await backend.enqueue(many(1));
    const [lease] = await backend.fetch(take);
    await delay(2_300); // more than twice its time: that is what is tested
    expect(await backend.fetch(take)).toEqual([]);
    expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    await backend.close();
  });

  it('is lost with its connection, of which its holder hears at once, and the job is the next attempt', async () => {
    const own = await startBeanstalkd({ binlog: true });
    const { backend } = open({ url: own.url });
    const lost: string[] = [];
    backend.hints!.watchLeases!({ lost: (tokens) => lost.push(...tokens), cancelled() {} });
    await backend.enqueue(many(1));
    const [lease] = await backend.fetch(take);
    await own.stop('SIGKILL');
    await until(() => lost.length > 0);
    expect(lost).toEqual([lease!.token]);
    await own.start();
    expect(await backend.renew([lease!], 60_000)).toEqual([false]);
    expect(await backend.ack([{ lease: lease! }])).toEqual([false]);
    const [again] = await backend.fetch(take);
    expect(again!.body).toBe(lease!.body);
    await backend.close();
    await own.remove();
  });

  it('that the server has given to another settles nothing, though its holder believes in it', async () => {
    const now = Date.now();
    const own = await startBeanstalkd({ stopped: true });
    await own.setTime(now);
    const clock = createVirtualClock(now);
    const store = memoryStore();
    const address = { url: own.url, prefix: 'fence-', store, ttrMs: 10_000 };
    const sleeper = open({ ...address, clock }).backend; // its clock stands still, as in a machine that sleeps
    const other = open(address).backend;
    await sleeper.enqueue(many(4));
    const stale = await sleeper.fetch(take);
    await own.setTime(now + 20_000);
    const taken = await other.fetch(take);
    expect(taken.map(({ attempt, interrupted }) => [attempt, interrupted])).toEqual(Array(4).fill([2, true]));
    expect(await sleeper.ack([{ lease: stale[0]! }])).toEqual([false]);
    expect(await sleeper.nack(stale[1]!, { delayMs: 0, countAttempt: true })).toBe(false);
    expect(await sleeper.abandon(stale[2]!, { reason: 'permanent', error: 'x' })).toBe(false);
    expect(await sleeper.renew([stale[3]!], 60_000)).toEqual([false]);
    expect(await other.ack(taken.map((lease) => ({ lease })))).toEqual([true, true, true, true]);
    await sleeper.close();
    await other.close();
    await own.remove();
  });

  it('stops the run of a job whose connection is gone', async () => {
    const own = await startBeanstalkd({ binlog: true });
    const { backend } = open({ url: own.url, prefix: '' });
    const stopped: unknown[] = [];
    const job = defineJob({
      name: 'long',
      payload: z.null(),
      async handle(_, ctx) {
        if (ctx.attempt > 1) return;
        await once(ctx.signal, 'abort');
        stopped.push((ctx.signal.reason as { code: string }).code);
      },
    });
    const app = createApp({ jobs: [job], signing });
    await connect(app, backend).enqueue(job, null);
    const worker = startWorker(app, { backend });
    await until(() => worker.running() === 1);
    const connection = await own.connection();
    await own.stop('SIGKILL');
    await own.start();
    await until(() => stopped.length > 0);
    expect(stopped).toEqual(['LEASE_LOST']);
    await worker.stop();
    connection.destroy();
    await backend.close();
    await own.remove();
  });
});

describe('what other programs do', () => {
  it('a body that is no envelope is buried, and does not stop the job behind it', async () => {
    const { backend, prefix, admin } = open();
    const line = await server.connection();
    const bytes = Uint8Array.from([0xff, 0xfe, 0x00, 0x0d, 0x0a, 0x80]);
    await line.send(`use ${prefix}default`);
    const { number } = await line.send(`put 0 0 60 ${bytes.length}`, bytes);
    let ran = 0;
    const job = defineJob({ name: 'good', payload: z.null(), handle: async () => void ran++ });
    const app = createApp({ jobs: [job], signing });
    await connect(app, backend).enqueue(job, null);
    await startWorker(app, { backend, untilIdle: true }).done;
    expect(ran).toBe(1);
    const [letter, ...others] = await admin.deadLetters.list({});
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ id: `beanstalkd-${number}`, reason: 'rejected', attempt: 1 });
    expect(bytesOf((await line.send(`peek ${number}`)).data!)).toEqual(Buffer.from(bytes));
    expect(await admin.deadLetters.discard([letter!.id])).toBe(1);
    line.destroy();
    await backend.close();
  });

  it('a job with a second to run is given out, held and settled', async () => {
    const { backend, prefix } = open();
    const line = await server.connection();
    await line.send(`use ${prefix}default`);
    await line.send('put 5 0 1 2', '{}');
    const [lease] = await backend.fetch({ ...take, waitMs: 1_000 });
    await delay(1_500); // longer than its second
    expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    line.destroy();
    await backend.close();
  });

  it('a job that somebody else has buried is listed without a reason, and can be retried', async () => {
    const { backend, prefix, admin } = open();
    await backend.enqueue(many(1));
    const line = await server.connection();
    await line.send(`watch ${prefix}default`);
    const { number } = await line.send('reserve');
    await line.send(`bury ${number} 0`);
    const [letter] = await admin.deadLetters.list({});
    expect(letter).toMatchObject({
      id: 'id-0',
      reason: 'rejected',
      error: expect.stringMatching(/^UNKNOWN: /),
    });
    expect(await admin.deadLetters.retry(['id-0'])).toBe(1);
    expect(await backend.fetch(take)).toMatchObject([{ attempt: 1 }]);
    line.destroy();
    await backend.close();
  });

  it('a dead letter that somebody else has kicked or deleted is listed no more', async () => {
    const { backend, admin } = open();
    await backend.enqueue(many(3));
    for (const lease of await backend.fetch(take))
      await backend.abandon(lease, { reason: 'permanent', error: 'x' });
    const line = await server.connection();
    const ids = (await backend.admin!.deadLetters.list({})).map(({ id }) => id).sort();
    expect(ids).toEqual(['id-0', 'id-1', 'id-2']);
    const tube = `test-${prefixes}-default`;
    await line.send(`use ${tube}`);
    expect((await line.send('kick 1')).number).toBe(1);
    const { number } = await line.send('peek-buried');
    await line.send(`delete ${number}`);
    expect((await admin.deadLetters.list({})).map(({ id }) => id)).toEqual(['id-2']);
    line.destroy();
    await backend.close();
  });
});

describe('dead letters', () => {
  it('are listed newest first over many pages, and retried and discarded by id', async () => {
    const clock = createVirtualClock(Date.now());
    const { backend, admin } = open({ clock });
    await backend.enqueue(many(170));
    for (const lease of await backend.fetch(take)) {
      clock.advance(1);
      await backend.abandon(lease, { reason: 'exhausted', error: 'HANDLER: x' });
    }
    const expected = Array.from({ length: 170 }, (_, i) => `id-${169 - i}`);
    expect((await admin.deadLetters.list({ max: 1_000 })).map(({ id }) => id)).toEqual(expected);
    expect((await admin.deadLetters.list({ max: 3 })).map(({ id }) => id)).toEqual(expected.slice(0, 3));
    expect(await admin.deadLetters.retry(['id-0', 'id-60', 'id-169'])).toBe(3);
    expect(await admin.deadLetters.discard(['id-1', 'id-61', 'id-168', 'id-0'])).toBe(3);
    expect(await admin.deadLetters.list({ max: 1_000 })).toHaveLength(164);
    expect((await backend.fetch(take)).map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    await backend.close();
  });

  it('outlive a restart of the server with a binlog, with their reasons, and so does what waits', async () => {
    const own = await startBeanstalkd({ binlog: true });
    const { backend, admin } = open({ url: own.url });
    await backend.enqueue([...many(3), message({ id: 'later', notBefore: Date.now() + 3_600_000 })]);
    const [dead, done] = await backend.fetch({ ...take, max: 2 });
    await backend.abandon(dead!, { reason: 'permanent', error: 'HANDLER: no such invoice' });
    await backend.ack([{ lease: done! }]);
    await own.stop('SIGKILL');
    await own.start();
    await until(() => backend.admin!.stats('default').then(Boolean, () => false));
    expect(await admin.stats('default')).toMatchObject([{ ready: 1, delayed: 1, leased: 0, dead: 1 }]);
    expect(await admin.deadLetters.list({})).toMatchObject([
      { id: 'id-0', reason: 'permanent', error: 'HANDLER: no such invoice', attempt: 1 },
    ]);
    await backend.close();
    await own.remove();
  });
});

describe('without a store', () => {
  it('says once what is missing, and runs jobs all the same', async () => {
    const warnings: string[] = [];
    const backend = beanstalkd({ url: server.url, prefix: 'alone-' });
    backend.onWarning!((message) => warnings.push(message));
    let ran = 0;
    const job = defineJob({
      name: 'plain',
      payload: z.null(),
      retry: fixed(0),
      async handle() {
        if (ran++ === 0) throw new Error('once');
      },
    });
    const app = createApp({ jobs: [job], signing });
    const client = connect(app, backend);
    const { id } = await client.enqueue(job, null);
    expect(warnings).toEqual([]);
    await startWorker(app, { backend, untilIdle: true }).done;
    expect(ran).toBe(2);
    expect(warnings).toEqual([expect.stringContaining('no store')]);
    expect(await client.status(id)).toBe(null);
    expect(await client.cancel(id)).toBe('unknown');
    await backend.close();
  });

  it('a dead letter can be retried from another process, and begins anew', async () => {
    const alone = () => beanstalkd({ url: server.url, prefix: 'lonely-' });
    const [worker, other] = [alone(), alone()];
    await worker.enqueue(many(1));
    const [lease] = await worker.fetch(take);
    await worker.abandon(lease!, { reason: 'exhausted', error: 'HANDLER: x' });
    expect(await worker.admin!.deadLetters.list({})).toMatchObject([{ id: 'id-0', reason: 'exhausted' }]);
    const [letter] = await other.admin!.deadLetters.list({});
    expect(letter).toMatchObject({
      id: 'id-0',
      error: expect.stringMatching(/^UNKNOWN: /),
      body: lease!.body,
    });
    expect(await other.admin!.deadLetters.retry(['id-0'])).toBe(1);
    expect(await worker.admin!.deadLetters.list({})).toEqual([]);
    expect(await worker.fetch(take)).toMatchObject([{ attempt: 1, body: lease!.body }]);
    await worker.close();
    await other.close();
  });
});

describe('a process that is busy', () => {
  it.for(['sent', 'read'])(
    'for longer than a server may be silent, before it has %s, blames none',
    async (what) => {
      const address = { host: '127.0.0.1', port: server.port, silenceMs: 100 };
      const connection = await openConnection(address);
      const answer = connection.send('list-tube-used');
      if (what === 'read') connection.flush();
      keepBusy(400);
      expect(await answer).toMatchObject({ word: 'USING' });
      connection.destroy();
    },
  );
});

describe('an idle worker', () => {
  it('waits on one connection and asks nothing', async () => {
    const own = await startBeanstalkd();
    const { backend } = open({ url: own.url });
    const waiting = backend.fetch({ ...take, waitMs: 5_000 });
    await until(async () => (await own.count('current-waiting')) === 1);
    const [before, connections] = [
      await own.count('cmd-reserve-with-timeout'),
      await own.count('current-connections'),
    ];
    await delay(700); // in which nothing may happen
    expect(await own.count('cmd-reserve-with-timeout')).toBe(before);
    expect(connections).toBe(2); // its own, and the one of this test
    await backend.enqueue(many(1));
    expect(await waiting).toHaveLength(1);
    await backend.close();
    await own.remove();
  });
});
