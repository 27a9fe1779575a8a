/** What `enqueue()` sends and what it refuses before anything is sent. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { withContext } from '../../../core/kernel/app/context.ts';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import { connect } from '../../../core/routing/connect.ts';
import { refused, sent } from './enqueue-kit.ts';
import { bench, job, refusalText, startMs } from './kit.ts';

describe('enqueue', () => {
  it('sends the job as it is defined', async () => {
    const one = job({ queue: 'mail', priority: 'high', maxRetries: 7, expiresInMs: 1000 });
    expect(await sent(one, { a: 1 })).toMatchObject({
      v: 1,
      job: 'work',
      payload: { a: 1 },
      queue: 'mail',
      priority: 2,
      maxRetries: 7,
      attempts: 0,
      name: null,
      identifier: 'id-1',
      idempotencyKey: null,
      schedule: null,
      issuedAt: startMs,
      expiresAt: startMs + 1000,
      context: null,
    });
  });

  it('lets options win', async () => {
    const options = { queue: 'other', priority: 'low', maxRetries: 0, name: 'by hand', group: 'g' } as const;
    expect(await sent(job(), {}, options)).toMatchObject({
      queue: 'other',
      priority: 8,
      maxRetries: 0,
      name: 'by hand',
    });
  });

  it('returns the id under which the job is known', async () => {
    const b = bench({ jobs: [job()] });
    const one = b.app.jobs.get('work')!;
    const { id, queue } = await b.client.enqueue(one, {});
    expect({ id, queue }).toEqual({ id: 'id-1', queue: 'default' });
    expect(await b.client.status(id)).toMatchObject({ id, status: 'pending' });
    expect(await b.client.status('id-2')).toBeNull();
  });

  it('refuses a job that the app does not have, even one of the same name', async () => {
    const b = bench({ jobs: [job()] });
    expect(await refusalText(() => b.client.enqueue(job(), {}))).toBe(
      'UNKNOWN_JOB: Job "work" is not among the app\'s jobs. Add it to createApp({ jobs }).',
    );
  });

  it.each([
    ['work', '"work"'],
    [undefined, 'undefined'],
    [null, 'null'],
  ])('refuses %o, which is no job', async (given, shown) => {
    const b = bench({ jobs: [job()] });
    const expected = `UNKNOWN_JOB: Expected a job from defineJob(), got ${shown}.`;
    expect(await refusalText(() => b.client.enqueue(given as never, {}))).toBe(expected);
    const [result] = await b.client.enqueueMany(given as never, [{}]);
    expect(result).toMatchObject({ ok: false, error: { code: 'UNKNOWN_JOB' } });
  });

  it('throws what the backend says of the message', async () => {
    const b = bench({ jobs: [job()] });
    const client = connect(b.app, { ...b.backend, enqueue: async () => [] });
    expect(await refusalText(() => client.enqueue(b.app.jobs.get('work')!, {}))).toBe(
      'BACKEND: The backend gave no result.',
    );
  });
});

describe('time', () => {
  it.each([
    ['delayMs', { delayMs: 5000 }, startMs + 5000],
    ['a fraction of a millisecond', { delayMs: 0.2 }, startMs + 1],
    ['no delay', { delayMs: 0 }, null],
    ['runAt', { runAt: new Date(startMs + 60_000) }, startMs + 60_000],
    ['runAt in the past: at once', { runAt: new Date(startMs - 60_000) }, null],
    ['runAt now: at once', { runAt: new Date(startMs) }, null],
  ])('%s', async (_, options, schedule) => {
    expect((await sent(job(), {}, options)).schedule).toBe(schedule);
  });

  it('of expiry counts from when the job may run', async () => {
    const { expiresAt } = await sent(job({ expiresInMs: 1000 }), {}, { delayMs: 5000 });
    expect(expiresAt).toBe(startMs + 6000);
  });

  it.each([
    [{ delayMs: -1 }, 'delayMs to be 0 or more, got -1; leave it out to run at once'],
    [{ delayMs: Number.NaN }, 'delayMs to be 0 or more, got NaN; leave it out to run at once'],
    [
      { delayMs: Number.POSITIVE_INFINITY },
      'delayMs to be 0 or more, got Infinity; leave it out to run at once',
    ],
    [{ delayMs: '5' as never }, 'delayMs to be 0 or more, got "5"; leave it out to run at once'],
    [{ delayMs: 1, runAt: new Date() }, 'either delayMs or runAt, got both'],
    [{ runAt: new Date('soon') }, 'runAt to be a valid date, got an object'],
    [{ runAt: '2026-01-01' as never }, 'runAt to be a valid date, got "2026-01-01"'],
  ])('%o is refused', async (options, expected) => {
    expect(await refused(job(), {}, options)).toBe(`OPTION: Expected ${expected}.`);
  });

  it.each([1e300, 8.9e15, 8_640_000_000_000_001 - startMs])(
    'beyond what a date can tell is refused, and the message names delayMs: %d',
    async (delayMs) => {
      expect(await refused(job(), {}, { delayMs })).toMatch(/^OPTION: Expected delayMs .+ got [\de.+]+\.$/);
    },
  );

  it('may end at the last moment that a date can tell', async () => {
    const b = bench({ jobs: [job()] });
    const delayMs = 8_640_000_000_000_000 - startMs;
    const { id } = await b.client.enqueue(b.app.jobs.get('work')!, {}, { delayMs });
    expect((await b.client.status(id))!.runAt).toBe(8_640_000_000_000_000);
  });

  it('beyond what the backend can wait is refused', async () => {
    const b = bench({ jobs: [job()] });
    const limits = { ...b.backend.limits, maxDelayMs: 900_000 };
    const client = connect(b.app, { ...b.backend, limits });
    const one = b.app.jobs.get('work')!;
    expect(await refusalText(() => client.enqueue(one, {}, { delayMs: 900_001 }))).toBe(
      'LIMIT: Expected a delay of at most 900000 ms, got 900001.',
    );
    await client.enqueue(one, {}, { delayMs: 900_000 });
  });
});

describe('priority, retries, queue', () => {
  it.each([
    ['critical', 0],
    ['high', 2],
    ['normal', 5],
    ['low', 8],
    [3, 3],
  ] as const)('priority %s is %d', async (priority, value) => {
    expect((await sent(job(), {}, { priority })).priority).toBe(value);
  });

  it.each([
    [{ priority: -1 }, /^CONFIG: A priority is .+ got -1\.$/],
    [{ priority: 1.5 }, /^CONFIG: A priority is .+ got 1\.5\.$/],
    [{ priority: 'urgent' as never }, /^CONFIG: A priority is .+ got "urgent"\.$/],
    [{ queue: 'a b' }, /^CONFIG: A queue's name must match .+ got "a b"\.$/],
    [{ queue: '' }, /^CONFIG: A queue's name must match .+ got ""\.$/],
    [{ delay: 5 }, /^OPTION: enqueue\(\) has no option "delay"\. Did you mean "delayMs"\?$/],
    [{ retries: 5 }, /^OPTION: enqueue\(\) has no option "retries"\. Did you mean "maxRetries"\?$/],
    [{ toString: 5 }, /^OPTION: enqueue\(\) has no option "toString"\./],
    [{ maxRetries: -1 }, /^OPTION: Expected maxRetries to be an integer of 0 or more, got -1\.$/],
    [{ maxRetries: 1.5 }, /^OPTION: Expected maxRetries to be an integer of 0 or more, got 1\.5\.$/],
  ])('%o is refused', async (options, expected) => {
    expect(await refused(job(), {}, options as EnqueueOptions)).toMatch(expected);
  });
});

describe('the queue', () => {
  const [mail, report] = [job({ name: 'mail', queue: 'mail' }), job({ name: 'report' })];

  it('must accept the job, be it named by the call or by the job', async () => {
    const b = bench({ jobs: [mail, report], accepts: { mail: [mail], default: [], other: [report] } });
    const refusalOf = (queue: string) =>
      `UNKNOWN_JOB: Queue "${queue}" does not accept job "report". Add the job to accepts of createApp(), or name another queue.`;
    expect(await refusalText(() => b.client.enqueue(report, {}, { queue: 'mail' }))).toBe(refusalOf('mail'));
    expect(await refusalText(() => b.client.enqueue(report, {}))).toBe(refusalOf('default'));
    const [result] = await b.client.enqueueMany(report, [{}], { queue: 'mail' });
    expect(result).toMatchObject({ ok: false, error: { code: 'UNKNOWN_JOB' } });
    expect(await b.backend.admin!.stats()).toEqual([]);
    expect((await b.client.enqueue(report, {}, { queue: 'other' })).queue).toBe('other');
  });

  it('must be named by the app, because no worker takes from another', async () => {
    const b = bench({ jobs: [mail, report], queues: { vip: {} }, accepts: { slow: [report], closed: [] } });
    expect(b.app.queues).toEqual(['mail', 'default', 'vip', 'slow']);
    const text =
      'Queue "mial" is not declared, so no worker would run its jobs. Did you mean "mail"? Declare it: createApp({ queues: { \'mial\': {} } }), or as the queue of a job.';
    expect(await refusalText(() => b.client.enqueue(report, {}, { queue: 'mial' }))).toBe(`OPTION: ${text}`);
    const [result] = await b.client.enqueueMany(report, [{}], { queue: 'mial' });
    expect(result).toMatchObject({ ok: false, error: { code: 'OPTION', message: text } });
    expect(await b.backend.admin!.stats()).toEqual([]);
    for (const queue of ['mail', 'vip', 'slow'])
      expect((await b.client.enqueue(report, {}, { queue })).queue).toBe(queue);
  });
});

describe('the idempotency key', () => {
  const keyed = defineJob({
    name: 'work',
    payload: z.object({ id: z.string().transform((text) => text.toUpperCase()) }),
    idempotencyKey: ({ id }) => (id === 'NONE' ? null : id),
    handle: () => {},
  }) as Job;

  it('is made of what the schema gives, unless an option names another', async () => {
    expect((await sent(keyed, { id: 'ab' })).idempotencyKey).toBe('AB');
    expect((await sent(keyed, { id: 'none' })).idempotencyKey).toBeNull();
    expect((await sent(keyed, { id: 'ab' }, { idempotencyKey: 'mine' })).idempotencyKey).toBe('mine');
  });

  it.each([1, 256])('may have %d characters', async (length) => {
    const idempotencyKey = 'k'.repeat(length);
    expect((await sent(job(), {}, { idempotencyKey })).idempotencyKey).toBe(idempotencyKey);
  });

  it.each([
    ['', '""'],
    ['k'.repeat(257), `"${'k'.repeat(57)}..."`],
    [7 as never, '7'],
  ])('%j is refused', async (idempotencyKey, got) => {
    expect(await refused(job(), {}, { idempotencyKey })).toBe(
      `OPTION: Expected an idempotency key of 1 to 256 characters, got ${got}.`,
    );
  });
});

describe('the context', () => {
  const context = { tenantId: 'acme', actorId: 'u-7', requestId: 'r-9', traceparent: '00-aa-bb-01' };

  it('is the one that runs now, unless an option names another', async () => {
    expect((await withContext(context, () => sent(job(), {}))).context).toEqual(context);
    const other = { tenantId: 'other' };
    expect((await withContext(context, () => sent(job(), {}, { context: other }))).context).toEqual(other);
    expect((await withContext(context, () => sent(job(), {}, { context: {} }))).context).toBeNull();
    expect((await sent(job(), {})).context).toBeNull();
  });

  it('is only its four members', async () => {
    const more = { ...context, password: 'x' };
    expect((await sent(job(), {}, { context: more })).context).toEqual(context);
  });

  it.each([
    [{ tenantId: 7 }, 'context.tenantId to be a text of 0 to 256 characters, got 7'],
    [{ actorId: null }, 'context.actorId to be a text of 0 to 256 characters, got null'],
    [
      { requestId: 'r'.repeat(257) },
      `context.requestId to be a text of 0 to 256 characters, got "${'r'.repeat(57)}..."`,
    ],
  ])('%j is refused', async (wrong, expected) => {
    expect(await refused(job(), {}, { context: wrong as never })).toBe(`OPTION: Expected ${expected}.`);
  });
});

describe('enqueueMany', () => {
  it('reports a key function that throws for its payload alone', async () => {
    const one = defineJob({
      name: 'work',
      payload: z.object({ user: z.object({ id: z.string() }).optional() }),
      idempotencyKey: ({ user }) => user!.id,
      handle: () => {},
    });
    const b = bench({ jobs: [one] });
    const [good, bad] = await b.client.enqueueMany(one, [{ user: { id: 'u1' } }, {}]);
    expect(good).toMatchObject({ ok: true });
    expect(bad).toMatchObject({ ok: false, error: { code: 'PAYLOAD' } });
    expect(bad).toMatchObject({
      error: { message: expect.stringMatching(/^idempotencyKey\(\) of job "work" threw: /) },
    });
  });

  const one = job({ payload: z.object({ n: z.number().max(2) }) as never });

  it('gives one result per payload, in order; what is wrong with one does not stop the others', async () => {
    const b = bench({ jobs: [one] });
    const results = await b.client.enqueueMany(one, [{ n: 1 }, { n: 3 }, { n: 2 }, { n: 1n }, {}]);
    expect(results.map((result) => (result.ok ? result.id : result.error.code))).toEqual([
      'id-1',
      'PAYLOAD',
      'id-2',
      'PAYLOAD',
      'PAYLOAD',
    ]);
    expect(await b.backend.admin!.stats()).toMatchObject([{ ready: 2 }]);
  });

  it('sends nothing when there is nothing to send', async () => {
    const b = bench({ jobs: [one] });
    expect(await b.client.enqueueMany(one, [])).toEqual([]);
    expect((await b.client.enqueueMany(one, [{ n: 9 }])).map(({ ok }) => ok)).toEqual([false]);
  });

  it('sends the slices one after the other, in the order of the payloads', async () => {
    const one = job();
    const b = bench({ jobs: [one] });
    const steps: string[] = [];
    const client = connect(b.app, {
      ...b.backend,
      async enqueue(messages) {
        steps.push(`send ${messages.length}`);
        await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
        steps.push(`sent ${messages.length}`);
        return b.backend.enqueue(messages);
      },
    });
    const results = await client.enqueueMany(one, new Array(500).fill({}));
    expect(results.filter(({ ok }) => ok)).toHaveLength(500);
    expect(steps).toEqual(['send 200', 'sent 200', 'send 200', 'sent 200', 'send 100', 'sent 100']);
  });

  it('lets what is signed leave before it signs more', async () => {
    let signed = 0;
    const one = job({ payload: z.number().refine(() => ++signed > 0) as never });
    const b = bench({ jobs: [one] });
    const leftAfter: number[] = [];
    const client = connect(b.app, {
      ...b.backend,
      async enqueue(messages) {
        await null;
        await new Promise(setImmediate); // drivers write in the next turn of the event loop
        leftAfter.push(signed);
        return b.backend.enqueue(messages);
      },
    });
    const results = await client.enqueueMany(
      one,
      Array.from({ length: 700 }, (_, n) => n),
    );
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(leftAfter).toEqual([200, 400, 600, 700]);
  });
});
