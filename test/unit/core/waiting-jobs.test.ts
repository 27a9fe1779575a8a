/** `client.update()`, `promote()` and `remove()`: jobs that wait. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Envelope } from '../../../core/envelope/envelope.ts';
import { defineJob } from '../../../core/kernel/app/job.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { bench, envelope, job, refusalText, startMs } from './kit.ts';

const hour = 3_600_000;
const seen: unknown[] = [];
const mail = defineJob({
  name: 'mail',
  payload: z.object({ to: z.string(), text: z.string().optional() }),
  idempotencyKey: ({ to }) => `mail-${to}`,
  expiresInMs: 60_000,
  handle: (payload) => void seen.push(payload),
});

function mailBench(options: Parameters<typeof bench>[0] = {}) {
  seen.length = 0;
  const b = bench({ jobs: [mail], ...options });
  const envelopeOf = async (id: string): Promise<Envelope> =>
    JSON.parse((await b.backend.pending!.read({ queue: 'default', id }))!);
  return { ...b, envelopeOf };
}

describe('update', () => {
  it('gives a job another payload under its id, with the key that belongs to it', async () => {
    const { client, next, envelopeOf } = mailBench();
    const context = { tenantId: 'acme', requestId: 'r-1' };
    const { id } = await client.enqueue(mail, { to: 'a' }, { context, name: 'greeting', priority: 'high' });
    const before = await envelopeOf(id);
    expect(await client.update(mail, id, { payload: { to: 'b', text: 'hello' } })).toBe(true);
    const { _sig, ...after } = (await envelopeOf(id)) as Envelope & { _sig: string };
    const payload = { to: 'b', text: 'hello' };
    expect({ ...before, _sig: undefined, payload, idempotencyKey: 'mail-b' }).toMatchObject(after);
    expect(await client.status(id)).toMatchObject({
      idempotencyKey: 'mail-b',
      name: 'greeting',
      requestId: 'r-1',
      tenantId: 'acme',
    });
    expect(await next()).toMatchObject({ id, outcome: 'acked', attempt: 1 });
    expect(seen).toEqual([payload]);
  });

  it('keeps a key that was given', async () => {
    const { client } = mailBench();
    const { id } = await client.enqueue(mail, { to: 'a' }, { idempotencyKey: 'mine' });
    await client.update(mail, id, { payload: { to: 'b' } });
    expect(await client.status(id)).toMatchObject({ idempotencyKey: 'mine' });
  });

  it('moves a job to another time, and its expiry with it', async () => {
    const { client, clock, next, take, envelopeOf } = mailBench();
    const { id } = await client.enqueue(mail, { to: 'a' });
    expect(await client.update(mail, id, { delayMs: hour })).toBe(true);
    expect(await envelopeOf(id)).toMatchObject({
      schedule: startMs + hour,
      expiresAt: startMs + hour + 60_000,
    });
    expect(await client.status(id)).toMatchObject({ runAt: startMs + hour });
    await expect(take()).rejects.toThrow('found none');
    expect(await client.update(mail, id, { runAt: new Date(startMs + 60_000) })).toBe(true);
    clock.advance(60_000);
    expect(await next()).toMatchObject({ outcome: 'acked', attempt: 1, waitMs: 0 });
  });

  it('with a time that has come lets a delayed job run at once', async () => {
    const { client, clock, next } = mailBench();
    const { id } = await client.enqueue(mail, { to: 'a' }, { delayMs: hour });
    clock.advance(1_000);
    expect(await client.update(mail, id, { delayMs: 0 })).toBe(true);
    expect(await next()).toMatchObject({ id, outcome: 'acked', waitMs: 0 });
  });

  it('changes the priority alone, in the text too', async () => {
    const { client, next, envelopeOf } = mailBench();
    const [first, second] = [
      await client.enqueue(mail, { to: 'a' }),
      await client.enqueue(mail, { to: 'b' }),
    ];
    expect(await client.update(mail, second.id, { priority: 'critical' })).toBe(true);
    expect(await envelopeOf(second.id)).toMatchObject({ priority: 0, schedule: null, payload: { to: 'b' } });
    expect([(await next()).id, (await next()).id]).toEqual([second.id, first.id]);
  });

  it('of a job between two attempts leaves its attempts', async () => {
    let tries = 0;
    const flaky = job({
      retry: fixed(hour),
      handle: () => (++tries === 1 ? Promise.reject(new Error('x')) : 1),
    });
    const { client, clock, next } = bench({ jobs: [flaky] });
    const { id } = await client.enqueue(flaky, { n: 1 });
    await next();
    clock.advance(1);
    expect(await client.update(flaky, id, { payload: { n: 2 }, delayMs: 0 })).toBe(true);
    expect(await next()).toMatchObject({ id, outcome: 'acked', attempt: 2 });
    expect((await client.status(id))?.attempts).toHaveLength(2);
  });

  it('answers false for a job that runs, has ended or is not known', async () => {
    const { client, take, run } = mailBench();
    const { id } = await client.enqueue(mail, { to: 'a' });
    const running = await take();
    expect(await client.update(mail, id, { payload: { to: 'b' } })).toBe(false);
    await run(running);
    expect(seen).toEqual([{ to: 'a' }]);
    for (const one of [id, 'nobody', ''])
      expect(await client.update(mail, one, { payload: { to: 'b' } })).toBe(false);
  });

  it('refuses what enqueue() would refuse, and changes nothing', async () => {
    const { client, envelopeOf, app } = mailBench({ maxBodyBytes: 1_024 });
    const { id } = await client.enqueue(mail, { to: 'a' });
    const before = await envelopeOf(id);
    const text = (change: object, one: unknown = mail) =>
      refusalText(() => client.update(one as never, id, change as never));
    expect(await text({ payload: { to: 5 } })).toMatch(/^PAYLOAD: .*mail/);
    expect(await text({ payload: { to: 'a', text: 'x'.repeat(1_024) } })).toMatch(/^LIMIT: /);
    expect(await text({ delayMs: -1 })).toMatch(/^OPTION: Expected delayMs to be 0 or more, got -1/);
    expect(await text({ delayMs: 1, runAt: new Date() })).toMatch(/^OPTION: .*either delayMs or runAt/);
    expect(await text({ priority: 10 })).toMatch(/^CONFIG: A priority is an integer/);
    expect(await text({ prority: 1 })).toBe(
      'OPTION: update() has no option "prority". Did you mean "priority"?',
    );
    expect(await text({})).toBe(
      'OPTION: Expected at least one of payload, delayMs, runAt, priority, got none.',
    );
    expect(await text({ payload: {} }, job())).toMatch(/^UNKNOWN_JOB: Job "work" is not among/);
    expect(await envelopeOf(id)).toEqual(before);
    expect(app.jobs.size).toBe(1);
  });

  it('refuses the id of another job, and a text that nobody here has signed', async () => {
    const other = job();
    const { client, put, take } = bench({ jobs: [mail, other] });
    const { id } = await client.enqueue(other, {});
    expect(await refusalText(() => client.update(mail, id, { payload: { to: 'a' } }))).toBe(
      'OPTION: Expected the id of a job "mail", got the id of a job "work".',
    );
    await client.remove(id);
    await put(envelope({ identifier: 'put-2', payload: { n: 1 } }).replace('"n":1', '"n":2'));
    expect(await refusalText(() => client.update(other, 'put-2', { priority: 1 }))).toMatch(
      /^SIGNATURE: It does not verify here.* or remove it\.$/,
    );
    await put(envelope({ identifier: 'id-7' }));
    expect(await refusalText(() => client.update(other, 'put-3', { priority: 1 }))).toMatch(
      /^ENVELOPE: .*it was copied\. Remove it\.$/,
    );
    expect((await take()).lease.body).toContain('"n":2');
  });

  it('loses neither of two changes at once', async () => {
    const { client, envelopeOf } = mailBench();
    const { id } = await client.enqueue(mail, { to: 'a' }, { delayMs: hour });
    const changes = [{ payload: { to: 'b' } }, { priority: 1 }, { delayMs: 5_000 }];
    const answers = await Promise.all(changes.map((change) => client.update(mail, id, change)));
    expect(answers).toEqual([true, true, true]);
    expect(await envelopeOf(id)).toMatchObject({
      payload: { to: 'b' },
      priority: 1,
      schedule: startMs + 5_000,
    });
  });

  it('keeps a large payload beside the queue, and takes the key from the one that was there', async () => {
    const kept = new Map<string, Uint8Array>();
    const payloads = {
      put: async (key: string, bytes: Uint8Array) => void kept.set(key, bytes),
      get: async (key: string) => kept.get(key) ?? null,
      delete: async (key: string) => void kept.delete(key),
    };
    const { client, next, envelopeOf } = mailBench({ maxBodyBytes: 1_024, stores: { payloads } });
    const text = 'x'.repeat(2_000);
    const { id } = await client.enqueue(mail, { to: 'a', text });
    expect(await client.update(mail, id, { priority: 1 })).toBe(true);
    expect((await envelopeOf(id)).claim).toBeTruthy();
    expect(await client.update(mail, id, { payload: { to: 'b', text: `${text}y` } })).toBe(true);
    expect(await envelopeOf(id)).toMatchObject({ payload: null, idempotencyKey: 'mail-b', priority: 1 });
    await next();
    expect(seen).toEqual([{ to: 'b', text: `${text}y` }]);
  });
});

describe('promote', () => {
  it('lets a delayed job run now, though its text says later', async () => {
    const { client, clock, next, envelopeOf } = mailBench();
    const { id } = await client.enqueue(mail, { to: 'a' }, { delayMs: hour });
    clock.advance(1_000);
    expect(await client.promote(id)).toBe(true);
    expect(await envelopeOf(id)).toMatchObject({
      schedule: startMs + 1_000,
      expiresAt: startMs + hour + 60_000,
    });
    expect(await client.status(id)).toMatchObject({ runAt: startMs + 1_000 });
    expect(await next()).toMatchObject({ id, outcome: 'acked', attempt: 1, waitMs: 0 });
  });

  it('lets the next attempt begin now, and leaves a job that is ready', async () => {
    let tries = 0;
    const flaky = job({
      retry: fixed(hour),
      handle: () => (++tries === 1 ? Promise.reject(new Error('x')) : 1),
    });
    const { client, next } = bench({ jobs: [flaky] });
    const { id } = await client.enqueue(flaky, {});
    expect(await client.promote(id)).toBe(true);
    await next();
    expect(await client.promote(id)).toBe(true);
    expect(await next()).toMatchObject({ id, outcome: 'acked', attempt: 2 });
    expect([await client.promote(id), await client.promote('nobody')]).toEqual([false, false]);
  });

  it('refuses a delayed job whose text nobody here has signed: no worker would run it', async () => {
    const { client, backend } = bench({ jobs: [job()] });
    const body = envelope({ identifier: 'x', schedule: startMs + hour }).replace('"k1"', '"k9"');
    const facts = { queue: 'default', job: 'work', priority: 5, group: null, tenantId: null };
    await backend.enqueue([{ id: 'x', body, notBefore: startMs + hour, ...facts }]);
    await backend.enqueue([{ id: 'y', body: 'of another program', notBefore: startMs + hour, ...facts }]);
    expect(await refusalText(() => client.promote('x'))).toMatch(/^UNKNOWN_KEY: It does not verify here/);
    expect(await client.promote('y')).toBe(true);
  });
});

describe('remove', () => {
  it('takes a job that waits out of the queue, with its record', async () => {
    const { client, take } = mailBench();
    const { id } = await client.enqueue(mail, { to: 'a' });
    expect([await client.remove(id), await client.remove(id)]).toEqual([true, false]);
    expect(await client.status(id)).toBeNull();
    await expect(take()).rejects.toThrow('found none');
  });

  it('leaves one that runs', async () => {
    const { client, take, run } = mailBench();
    const { id } = await client.enqueue(mail, { to: 'a' });
    const running = await take();
    expect(await client.remove(id)).toBe(false);
    expect(await run(running)).toMatchObject({ outcome: 'acked', settled: true });
  });
});

describe('a store beside the queue', () => {
  it('hears of a change, and calls a removed job cancelled', async () => {
    const clock = createVirtualClock(startMs);
    const { records } = memoryStore({ clock });
    const { client } = mailBench({ clock, stores: { records } });
    const { id } = await client.enqueue(mail, { to: 'a' }, { delayMs: hour });
    await client.update(mail, id, { payload: { to: 'b' }, priority: 1, delayMs: 5_000 });
    expect(await client.status(id)).toMatchObject({
      status: 'pending',
      priority: 1,
      runAt: startMs + 5_000,
      idempotencyKey: 'mail-b',
    });
    await client.promote(id);
    expect(await client.status(id)).toMatchObject({ runAt: startMs });
    expect(await client.remove(id)).toBe(true);
    expect(await client.status(id)).toMatchObject({ status: 'cancelled' });
  });
});

describe('a backend that finds no waiting job', () => {
  it('is refused with what to do instead', async () => {
    const b = mailBench();
    const { pending: _, ...backend } = b.backend;
    const { connect } = await import('../../../core/routing/connect.ts');
    const client = connect(b.app, backend);
    const { id } = await client.enqueue(mail, { to: 'a' });
    const expected =
      'CONFIG: Backend "memory" cannot find a waiting job by its id. Cancel the job, and enqueue another one.';
    for (const call of [
      () => client.promote(id),
      () => client.remove(id),
      () => client.update(mail, id, { priority: 1 }),
    ])
      expect(await refusalText(call)).toBe(expected);
  });
});
