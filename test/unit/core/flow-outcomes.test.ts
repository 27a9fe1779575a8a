/** How an attempt ends: every outcome and reason of a handler that returns or throws. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PermanentError, RetryAfterError, SnoozeError } from '../../../core/base/errors.ts';
import { reportError } from '../../../core/base/failure.ts';
import { delays, fixed, noRetry, type RetryPolicy } from '../../../core/kernel/app/retry.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { connect } from '../../../core/routing/connect.ts';
import { bench, envelope, job, startMs } from './kit.ts';

const throwing = (error: unknown, retry: RetryPolicy = fixed(1000)) =>
  job({
    retry,
    handle: () => {
      throw error;
    },
  });

describe('a handler that returns', () => {
  it('is acked, and the job is done', async () => {
    const b = bench({ jobs: [job({ handle: () => ({ sent: 3 }) })] });
    expect(await b.once(b.app.jobs.get('work')!)).toEqual({
      id: 'id-1',
      job: 'work',
      outcome: 'acked',
      settled: true,
      attempt: 1,
      counted: true,
      durationMs: 0,
      waitMs: 0,
      memoryBytes: null,
      delayMs: null,
      reason: null,
      error: null,
    });
    expect(await b.client.status('id-1')).toMatchObject({ status: 'completed', output: { sent: 3 } });
  });

  it.each([
    ['nothing', undefined, null],
    ['null', null, null],
    ['a text', 'done', 'done'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a function', () => 1, null],
    ['a promise of something', Promise.resolve([1]), [1]],
    ['65,536 characters of JSON', 'x'.repeat(65_534), 'x'.repeat(65_534)],
  ])('%s: that is its output', async (_, returned, output) => {
    const b = bench({ jobs: [job({ handle: () => returned })] });
    expect((await b.once(b.app.jobs.get('work')!)).outcome).toBe('acked');
    expect((await b.client.status('id-1'))?.output).toEqual(output);
    expect(b.kinds()).not.toContain('job.warning');
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const thrower = {
    toJSON: () => {
      throw Object.create(null);
    },
  };
  it.each([
    ['too long', 'x'.repeat(65_535), /it has 65537 characters, at most 65536 are kept\.$/],
    ['a cycle', cycle, /circular/],
    ['a bigint', 1n, /BigInt/],
    ['what throws when it is written', thrower, /has no text/],
  ])(
    'an output that cannot be kept (%s) is dropped with a warning: the effect has happened',
    async (_, returned, why) => {
      const b = bench({ jobs: [job({ handle: () => returned })] });
      expect(await b.once(b.app.jobs.get('work')!)).toMatchObject({ outcome: 'acked', settled: true });
      expect((await b.client.status('id-1'))?.output).toBeNull();
      const [{ message: warning } = {}] = b.eventsOf('job.warning');
      expect(warning).toMatch(/^The job succeeded, but its output is not kept: /);
      expect(warning).toMatch(why);
    },
  );
});

describe('a handler that throws', () => {
  it('is requeued after the delay of its policy', async () => {
    const b = bench({ jobs: [throwing(new Error('down'), delays([1000, 5000]))] });
    expect(await b.once(b.app.jobs.get('work')!)).toMatchObject({
      outcome: 'requeued',
      settled: true,
      attempt: 1,
      delayMs: 1000,
      reason: null,
      error: { code: 'HANDLER', message: 'down' },
    });
    expect(await b.client.status('id-1')).toMatchObject({ status: 'retrying', runAt: startMs + 1000 });
    b.clock.advance(1000);
    expect(await b.next()).toMatchObject({ attempt: 2, delayMs: 5000 });
  });

  it('tells its policy which attempt it was, the error and the chance', async () => {
    const error = new Error('down');
    const seen: unknown[] = [];
    const policy: RetryPolicy = (failure) => {
      seen.push(failure);
      return 0;
    };
    const b = bench({ jobs: [throwing(error, policy)] });
    await b.once(b.app.jobs.get('work')!);
    await b.next();
    expect(seen).toEqual([
      { attempt: 1, error, random: 0.5 },
      { attempt: 2, error, random: 0.5 },
    ]);
  });

  it('is exhausted after maxRetries + 1 attempts', async () => {
    const b = bench({ jobs: [throwing(new Error('down'), fixed(0))] });
    const outcomes = [
      await b.once(b.app.jobs.get('work')!, {}, { maxRetries: 2 }),
      await b.next(),
      await b.next(),
    ];
    expect(outcomes.map(({ outcome, attempt, reason }) => [outcome, attempt, reason])).toEqual([
      ['requeued', 1, null],
      ['requeued', 2, null],
      ['dead-lettered', 3, 'exhausted'],
    ]);
    expect(await b.deadLetters()).toMatchObject([
      { id: 'id-1', reason: 'exhausted', error: 'HANDLER: down', attempt: 3 },
    ]);
    const record = await b.client.status('id-1');
    expect(record?.status).toBe('failed');
    expect(record?.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'requeued'],
      [2, 'requeued'],
      [3, 'dead-lettered'],
    ]);
  });

  it('is exhausted at once when maxRetries is 0 or its policy says null', async () => {
    const b = bench({ jobs: [throwing(new Error('down'), noRetry)] });
    const one = b.app.jobs.get('work')!;
    expect(await b.once(one, {}, { maxRetries: 0 })).toMatchObject({ reason: 'exhausted' });
    expect(await b.once(one)).toMatchObject({ outcome: 'dead-lettered', reason: 'exhausted', attempt: 1 });
  });

  it('counts the attempts of earlier copies of the message', async () => {
    const b = bench({ jobs: [throwing(new Error('down'))] });
    await b.put(envelope({ attempts: 3, maxRetries: 3 }));
    expect(await b.next()).toMatchObject({ attempt: 4, reason: 'exhausted' });
  });

  it('a PermanentError is dead-lettered at once', async () => {
    class NoSuchInvoice extends PermanentError {}
    for (const error of [new PermanentError('no invoice 7'), new NoSuchInvoice('no invoice 7')]) {
      const b = bench({ jobs: [throwing(error)] });
      expect(await b.once(b.app.jobs.get('work')!)).toMatchObject({
        outcome: 'dead-lettered',
        reason: 'permanent',
        attempt: 1,
        error: { code: 'HANDLER', message: 'no invoice 7' },
      });
    }
  });

  it('a RetryAfterError is requeued after its own delay, but spends an attempt like any other', async () => {
    const b = bench({ jobs: [throwing(new RetryAfterError(90_000))] });
    expect(await b.once(b.app.jobs.get('work')!, {}, { maxRetries: 1 })).toMatchObject({
      outcome: 'requeued',
      delayMs: 90_000,
      error: { message: 'retry after 90000 ms' },
    });
    b.clock.advance(90_000);
    expect(await b.next()).toMatchObject({ outcome: 'dead-lettered', reason: 'exhausted' });
  });

  it('a SnoozeError gives the job back for later, whatever its policy says, and spends no attempt', async () => {
    const heard: unknown[] = [];
    const one = throwing(new SnoozeError(90_000, 'the bank is closed'), noRetry);
    const b = bench({ jobs: [one], onError: (error) => void heard.push(error) });
    await b.client.enqueue(one, {}, { maxRetries: 0 });
    for (let round = 0; round < 5; round++) {
      expect(await b.next()).toMatchObject({
        outcome: 'requeued',
        counted: false,
        attempt: 1,
        delayMs: 90_000,
        error: { code: 'HANDLER', message: 'the bank is closed' },
      });
      b.clock.advance(90_000);
    }
    expect(heard).toEqual([]);
    expect(await b.deadLetters()).toEqual([]);
  });

  it('a snooze of 0 ms waits 1 ms: who drains the queue comes to an end', async () => {
    const b = bench({ jobs: [throwing(new SnoozeError(0))] });
    expect(await b.once(b.app.jobs.get('work')!)).toMatchObject({ outcome: 'requeued', delayMs: 1 });
  });

  it('a job that snoozes past its expiry is a dead letter', async () => {
    const one = job({
      expiresInMs: 60_000,
      handle: () => Promise.reject(new SnoozeError(90_000)),
    });
    const b = bench({ jobs: [one] });
    expect(await b.once(one)).toMatchObject({ outcome: 'requeued' });
    b.clock.advance(90_000);
    expect(await b.next()).toMatchObject({ outcome: 'rejected', reason: 'expired' });
  });

  it('a delay that is no whole number is rounded up: queues count in milliseconds', async () => {
    const b = bench({ jobs: [throwing(new RetryAfterError(0.5))] });
    expect(await b.once(b.app.jobs.get('work')!)).toMatchObject({ delayMs: 1 });
  });

  const year = 366 * 86_400_000;
  it.each([
    ['a RetryAfterError', throwing(new RetryAfterError(99_999_999_999_999_000))],
    ['a SnoozeError', throwing(new SnoozeError(99_999_999_999_999_000))],
    ['a policy', throwing(new Error('down'), fixed(1e300))],
  ])('a delay of %s that no store could hold is 366 days', async (_, one) => {
    const b = bench({ jobs: [one] });
    expect(await b.once(one)).toMatchObject({ outcome: 'requeued', settled: true, delayMs: year });
    expect(await b.client.status('id-1')).toMatchObject({ runAt: startMs + year });
  });

  it('a job that is given back for its time waits 366 days at most, and is then looked at again', async () => {
    const b = bench({ jobs: [job()] });
    await b.put(envelope({ schedule: startMs + 3 * year }));
    expect(await b.next()).toMatchObject({ outcome: 'requeued', settled: true, delayMs: year });
  });

  it('a delay longer than its queue can hold is what the queue can hold', async () => {
    const one = throwing(new RetryAfterError(3_600_000));
    const b = bench({ jobs: [one] });
    const limits = { ...b.backend.limits, maxDelayMs: 900_000 };
    const client = connect(b.app, { ...b.backend, limits });
    await client.enqueue(one, {});
    const result = await attempt(b.app, { client, settler: b.backend }, await b.take());
    expect(result).toMatchObject({ outcome: 'requeued', settled: true, delayMs: 900_000 });
  });

  it.each([
    ['undefined', () => undefined as never],
    ['NaN', () => Number.NaN],
    ['a number below 0', () => -1],
    ['Infinity', () => Number.POSITIVE_INFINITY],
    ['text', () => '5' as never],
    [
      'an error',
      () => {
        throw new Error('a bug in the policy');
      },
    ],
  ])('waits as by default when its policy answers with %s', async (_, policy) => {
    const b = bench({ jobs: [throwing(new Error('down'), policy)] });
    expect(await b.once(b.app.jobs.get('work')!)).toMatchObject({
      outcome: 'requeued',
      settled: true,
      delayMs: 30_000,
      error: { message: 'down' },
    });
    b.clock.advance(30_000);
    expect((await b.next()).attempt).toBe(2);
  });

  it.each([
    ['null', null, 'The handler threw null.'],
    ['undefined', undefined, 'The handler threw undefined.'],
    ['a text', 'no', 'no'],
    ['a number', 7, '7'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object', { message: 'x' }, 'x'],
    ['an object without text', Object.create(null), 'The handler threw a value that has no text.'],
    ['an error without a message', new TypeError(), 'TypeError'],
    ['an error whose stack is gone', Object.assign(new Error('x'), { stack: null }), 'x'],
    [
      'an error whose message is an object',
      Object.assign(new Error(), { message: { a: 1 } }),
      '[object Object]',
    ],
  ])('%s fails like any other', async (_, thrown, message) => {
    for (const handle of [() => Promise.reject(thrown), throwing(thrown).run]) {
      const b = bench({ jobs: [job({ handle, retry: noRetry })] });
      expect(await b.once(b.app.jobs.get('work')!)).toMatchObject({
        outcome: 'dead-lettered',
        settled: true,
        error: { code: 'HANDLER', message },
      });
      expect(await b.deadLetters()).toMatchObject([{ error: `HANDLER: ${message}` }]);
    }
  });
});

describe('reportError', () => {
  it('turns anything into plain data of limited size', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (thrown) => {
        const { code, message } = reportError(thrown);
        expect([code, typeof message]).toEqual(['HANDLER', 'string']);
        expect(message.length).toBeLessThanOrEqual(2000);
      }),
    );
    const stack = `Error: no\n    at ${'s'.repeat(9000)}`;
    const report = reportError(Object.assign(new Error('m'.repeat(5000)), { stack }));
    expect([report.message.length, report.stack?.length]).toEqual([2000, 4000]);
  });
});
