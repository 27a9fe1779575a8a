/** Jobs and apps: their defaults, and for every wrong definition what was expected, what came and what to do. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { errorCodes } from '../../../core/base/error-codes.ts';
import { LongshoreError, PermanentError, RetryAfterError, SnoozeError } from '../../../core/base/errors.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { createApp } from '../../../core/features/table.ts';
import { defineJob } from '../../../core/kernel/app/job.ts';
import { delays } from '../../../core/kernel/app/retry.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { anything, job, refusal, refusalText, ring } from './kit.ts';

describe('defineJob', () => {
  it('fills in the defaults', () => {
    expect(defineJob({ name: 'a', payload: anything, handle: () => {} })).toMatchObject({
      name: 'a',
      queue: 'default',
      maxRetries: 3,
      timeoutMs: 300_000,
      priority: 5,
      expiresInMs: null,
      idempotencyKeepMs: 86_400_000,
      keyOf: null,
    });
  });

  it.each([
    ['critical', 0],
    ['high', 2],
    ['normal', 5],
    ['low', 8],
    [0, 0],
    [9, 9],
  ] as const)('knows the priority %s as %d', (priority, value) => {
    expect(job({ priority }).priority).toBe(value);
  });

  const names = 'must match /^[A-Za-z0-9._-]{1,128}$/, got';
  const wrong: [string, object, unknown][] = [
    ['a name with a space', { name: 'a b' }, `A job's name ${names} "a b".`],
    ['an empty name', { name: '' }, `A job's name ${names} "".`],
    ['no name', { name: undefined }, `A job's name ${names} undefined.`],
    ['a name of 129 characters', { name: 'n'.repeat(129) }, `A job's name ${names} "${'n'.repeat(57)}...".`],
    ['a queue with a slash', { queue: 'a/b' }, `A queue's name ${names} "a/b".`],
    [
      'no schema',
      { payload: undefined },
      'Job "work" expects a Standard Schema as payload (zod, valibot, ...), got undefined.',
    ],
    [
      'a plain object as schema',
      { payload: { id: 'string' } },
      'Job "work" expects a Standard Schema as payload (zod, valibot, ...), got an object.',
    ],
    ['no handler', { handle: undefined }, 'Job "work" expects a handle function, got undefined.'],
    [
      'maxRetries below 0',
      { maxRetries: -1 },
      'Expected maxRetries of job "work" to be an integer of 0 or more, got -1.',
    ],
    [
      'maxRetries of a half',
      { maxRetries: 0.5 },
      'Expected maxRetries of job "work" to be an integer of 0 or more, got 0.5.',
    ],
    [
      'maxRetries as text',
      { maxRetries: '3' },
      'Expected maxRetries of job "work" to be an integer of 0 or more, got "3".',
    ],
    [
      'no time to run',
      { timeoutMs: 0 },
      'Expected timeoutMs of job "work" to be an integer of 1 or more, got 0.',
    ],
    [
      'time without end',
      { timeoutMs: Number.POSITIVE_INFINITY },
      'Expected timeoutMs of job "work" to be an integer of 1 or more, got Infinity.',
    ],
    [
      'keys that are not kept',
      { idempotencyKeepMs: 0 },
      'Expected idempotencyKeepMs of job "work" to be an integer of 1 or more, got 0.',
    ],
    [
      'an expiry at once',
      { expiresInMs: 0 },
      'Expected expiresInMs of job "work" to be an integer of 1 or more, got 0.',
    ],
    [
      'more delays than retries',
      { retry: delays([1000, 5000, 9000]), maxRetries: 2 },
      'Job "work" has 3 delays, but maxRetries 2: expected 3 or more.',
    ],
    [
      'a retry that is no policy',
      { retry: 5 },
      'Expected retry of job "work" to be a function, got a number.',
    ],
    ['an option that there is not', { retries: 5 }, 'Unknown option "retries" of job "work", only name, '],
    [
      'an option by the name of a method',
      JSON.parse('{ "toString": 1 }'),
      expect.stringMatching(/^CONFIG: Unknown option "toString" of job "work", only .+\.$/),
    ],
    [
      'a limit of 0',
      { concurrency: { limit: 0 } },
      'Expected limit of concurrency of job:work to be an integer of 1 or more, got 0.',
    ],
    [
      'a limit that is none',
      { concurrency: 0 as never },
      'Expected limit of concurrency of job:work to be an integer of 1 or more, got undefined.',
    ],
    [
      'a limit that no store should count to',
      { rate: { limit: 10_001, perMs: 1 } },
      'Expected limit of rate of job:work to be at most 10000, got 10001.',
    ],
    [
      'a rate without a window',
      { rate: { limit: 1, perMs: -5 } },
      'Expected perMs of rate of job:work to be an integer of 1 or more, got -5.',
    ],
    [
      'a limit with an option that there is not',
      { concurrency: { limit: 1, keys: () => 'a' } as never },
      'Unknown option "keys" of concurrency of job:work, only limit, key.',
    ],
    [
      'two limits of concurrency',
      { single: true, concurrency: { limit: 2 } },
      'Job "work" expects either single or concurrency, got both.',
    ],
    [
      'a priority of 10',
      { priority: 10 },
      'A priority is an integer from 0 (first) to 9 or one of critical, high, normal, low, got 10.',
    ],
    [
      'a priority that is no word of ours',
      { priority: 'toString' },
      'A priority is an integer from 0 (first) to 9 or one of critical, high, normal, low, got "toString".',
    ],
  ];
  it.each(wrong)('refuses %s', async (_, parts, message) => {
    const expected = typeof message === 'string' ? expect.stringContaining(`CONFIG: ${message}`) : message;
    expect(await refusalText(() => job(parts))).toEqual(expected);
  });

  it('takes fewer delays than retries: the last one repeats', () => {
    expect(job({ retry: delays([1000]), maxRetries: 1 }).maxRetries).toBe(1);
    expect(job({ retry: delays([1000]), maxRetries: 9 }).maxRetries).toBe(9);
  });
});

describe('createApp', () => {
  it('knows its jobs and queues, in order of first mention', () => {
    const jobs = [job({ name: 'a', queue: 'mail' }), job({ name: 'b' }), job({ name: 'c', queue: 'mail' })];
    const app = createApp({ jobs, signing: ring });
    expect([...app.jobs.keys()]).toEqual(['a', 'b', 'c']);
    expect(app.queues).toEqual(['mail', 'default']);
    expect(app).toMatchObject({ unknownJobGraceMs: 300_000, maxBodyBytes: 1_048_576, schedules: [] });
  });

  it('makes ids of version 7: unique and in order of time', () => {
    let now = Date.UTC(2026, 0, 15);
    const clock = { now: () => now++, after: () => () => {} };
    const { newId } = createApp({ jobs: [], signing: ring, clock });
    const ids = Array.from({ length: 100 }, newId);
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(100);
  });

  const work = job();
  const nightly = defineSchedule({ name: 'nightly', cron: '0 2 * * *', job: work, payload: {} });
  it.each([
    [
      'two jobs of one name',
      { jobs: [job(), job()] },
      'Two jobs are called "work". Give every job its own name.',
    ],
    [
      'two schedules of one name',
      { jobs: [work], schedules: [nightly, nightly] },
      'Two schedules are called "nightly". Give every schedule its own name.',
    ],
    [
      'a schedule of a job it does not have',
      { jobs: [], schedules: [nightly] },
      'Schedule "nightly" runs job "work", which is not among the app\'s jobs. Add it to jobs.',
    ],
    [
      'a schedule of a job that its queue refuses',
      { jobs: [work], schedules: [nightly], accepts: { default: [] } },
      'Schedule "nightly" runs job "work", which its queue "default" does not accept. Add the job to accepts.',
    ],
    [
      'a schedule of another job of the same name',
      { jobs: [job()], schedules: [nightly] },
      'Schedule "nightly" runs job "work", which is not among the app\'s jobs. Add it to jobs.',
    ],
    [
      'a grace below 0',
      { jobs: [], unknownJobGraceMs: -1 },
      'Expected unknownJobGraceMs of createApp() to be an integer of 0 or more, got -1.',
    ],
    [
      'bodies too small to hold an envelope',
      { jobs: [], maxBodyBytes: 100 },
      'Expected maxBodyBytes of createApp() to be an integer of 1024 or more, got 100.',
    ],
    [
      'an option that there is not',
      { jobs: [], schedule: [nightly] },
      'Unknown option "schedule" of createApp(), only jobs, schedules, ',
    ],
    [
      'the name of a job where the job belongs',
      { jobs: [work], accepts: { default: ['work' as never] } },
      `accepts of queue "default" expects jobs, got "work". List the job itself, not its name: accepts: { 'default': [job] }.`,
    ],
    [
      'an accept list for a queue that cannot be',
      { jobs: [work], accepts: { 'a b': [work] } },
      'A queue\'s name must match /^[A-Za-z0-9._-]{1,128}$/, got "a b".',
    ],
  ])('refuses %s', async (_, options, message) => {
    expect(await refusalText(() => createApp({ signing: ring, ...options }))).toContain(`CONFIG: ${message}`);
  });
});

describe('defineSchedule', () => {
  it('refuses an option that there is not', async () => {
    const wrong = { name: 'nightly', everyMs: 1000, timeZone: 'UTC', job: job(), payload: {} };
    expect(await refusalText(() => defineSchedule(wrong))).toBe(
      'CONFIG: Unknown option "timeZone" of schedule "nightly", only name, cron, everyMs, timezone, job, payload, overlap, missed, until, ping. Did you mean "timezone"?',
    );
  });
});

describe('connect', () => {
  it('refuses an option that there is not', async () => {
    const app = createApp({ jobs: [], signing: ring });
    const wrong = { stores: memory().stores! };
    expect(await refusalText(() => connect(app, memory(), wrong as object))).toBe(
      'CONFIG: Unknown option "stores" of connect(), only store. Did you mean "store"?',
    );
  });

  it('refuses a backend that keeps no state when no store is given', async () => {
    const { stores, ...bare } = memory();
    const backend: QueueBackend = { ...bare, name: 'bare' };
    const app = createApp({ jobs: [job()], signing: ring });
    const expected =
      'CONFIG: Backend "bare" keeps no state of its own: give connect() a store, for example sqliteStore().';
    expect(await refusalText(() => connect(app, backend))).toBe(expected);
    expect(await refusalText(() => connect(app, backend, { store: { keys: stores!.keys } }))).toBe(expected);
    expect(connect(app, backend, { store: stores! }).stores).toEqual(stores);
  });

  it('prefers the store it is given', () => {
    const { keys } = memory().stores!;
    const client = connect(createApp({ jobs: [], signing: ring }), memory(), { store: { keys } });
    expect(client.stores.keys).toBe(keys);
  });
});

describe('errors', () => {
  it('carry a stable code, a name and their cause', () => {
    const cause = new Error('inner');
    const error = new LongshoreError('BACKEND', 'outer', { cause });
    expect(error).toMatchObject({ name: 'LongshoreError', code: 'BACKEND', message: 'outer', cause });
    expect(new Set(errorCodes).size).toBe(errorCodes.length);
  });

  it('for handlers have names and keep a cause', () => {
    const cause = new Error('inner');
    expect(new PermanentError('gone', { cause })).toMatchObject({ name: 'PermanentError', cause });
    expect(new RetryAfterError(1500, undefined, { cause })).toMatchObject({
      name: 'RetryAfterError',
      message: 'retry after 1500 ms',
      retryAfterMs: 1500,
      cause,
    });
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])(
    'RetryAfterError and SnoozeError refuse %d',
    async (ms) => {
      expect(await refusalText(() => new SnoozeError(ms))).toBe(
        `CONFIG: Expected a delay of 0 ms or more, got ${ms}.`,
      );
      expect(await refusalText(() => new RetryAfterError(ms))).toBe(
        `CONFIG: Expected a delay of 0 ms or more, got ${ms}.`,
      );
    },
  );

  it('show of a value only its kind, or a short text', async () => {
    const long = job({ payload: z.any() });
    const { message } = await refusal(() => createApp({ jobs: [long], accepts: { ['q'.repeat(500)]: [] } }));
    expect(message.length).toBeLessThan(200);
  });
});
