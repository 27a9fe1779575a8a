/** Jobs that stand alone: retries, times, keys, one of its kind, and what people do to them. */

import * as z from 'zod';
import { defineJob, fixed, PermanentError } from '../../../core/index.ts';
import type { Job } from '../../../core/kernel/app/job.ts';
import type { Unique } from '../../../core/kernel/app/unique.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { createOperator } from '../../../core/operations/index.ts';
import type { Did, Scenario } from '../types.ts';

const item = z.object({ n: z.number() });
type Item = z.infer<typeof item>;

export const jobOf = <Input>(client: Client, name: string): Job<Input> =>
  client.app.jobs.get(name) as Job<Input>;

/** Does `<name> <n>`. */
export const counted = (name: string, did: Did, options: object = {}): Job<Item> =>
  defineJob({ name, payload: item, handle: ({ n }, ctx) => did(`${name} ${n}`, ctx), ...options });

const later = (client: Client, n: number, options = {}) =>
  client.enqueue(jobOf<Item>(client, 'job'), { n }, options);

/** The id of the one job of that kind. */
async function idOf(client: Client, job: string): Promise<string> {
  const [record] = (await client.stores.records.page({ job })).records;
  return record!.id;
}

/** Jobs with one key that stood at the same time. */
async function standTogether(client: Client, during: Unique['during']): Promise<string[]> {
  const times = (await client.stores.records.page({ job: 'job' })).records.map((record) => {
    const begun = record.attempts[0]?.startedAt ?? record.finishedAt!;
    if (typeof during === 'object') return { from: record.createdAt, to: record.createdAt + during.forMs };
    if (during === 'waiting') return { from: record.createdAt, to: begun };
    return { from: during === 'running' ? begun : record.createdAt, to: record.finishedAt! };
  });
  times.sort((a, b) => a.from - b.from);
  return times.some(({ from }, i) => i > 0 && from < times[i - 1]!.to)
    ? ['two jobs with one key stand at once']
    : [];
}

export const singleJobs: readonly Scenario[] = [
  {
    // Long enough for its worker to lead, to renew the lead, and to do the chores that come every 5 s.
    name: 'a long job, whose worker does the chores',
    app: (did, { after }) => ({
      jobs: [
        defineJob({
          name: 'job',
          payload: item,
          async handle(_, ctx) {
            await new Promise<void>((resolve) => void after(12_000, resolve));
            did('long job', ctx);
          },
        }),
      ],
    }),
    begin: (client) => later(client, 1),
    effects: ['long job'],
    askedMs: 12_000,
  },
  {
    name: 'a retry',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'job',
          payload: item,
          retry: fixed(5_000),
          handle: (_, ctx) => {
            did(`attempt ${Math.min(ctx.attempt, 2)}`, ctx);
            if (ctx.attempt === 1) throw new Error('The first attempt fails.');
          },
        }),
      ],
    }),
    begin: (client) => later(client, 1),
    effects: ['attempt 2'],
    allowed: ['attempt 1'],
    askedMs: 5_000,
  },
  {
    name: 'a delay, an expiry and a priority',
    app: (did) => ({ jobs: [counted('job', did, { expiresInMs: 600_000 })] }),
    async begin(client) {
      await later(client, 1, { delayMs: 20_000, priority: 'low' });
      await later(client, 2, { priority: 'critical' });
    },
    effects: ['job 1', 'job 2'],
    askedMs: 20_000,
  },
  {
    name: 'an idempotency key',
    app: (did) => ({ jobs: [counted('job', did, { idempotencyKey: ({ n }: Item) => `k${n}` })] }),
    begin: (client) => later(client, 1),
    async act(client) {
      await later(client, 1);
    },
    effects: ['job 1'],
    byEither: true,
  },
  ...(['waiting', 'running', 'either', { forMs: 300_000 }] as const).map(
    (during): Scenario => ({
      name: `a unique job, while ${typeof during === 'string' ? during : 'a time lasts'}`,
      app: (did, { after }) => ({
        jobs: [
          defineJob({
            name: 'job',
            payload: item,
            unique: { key: ({ n }) => `u${n}`, during: during },
            async handle({ n }, ctx) {
              await new Promise<void>((resolve) => after(3_000, resolve));
              did(`job ${n}`, ctx);
            },
          }),
        ],
      }),
      act: (client) => later(client, 1),
      effects: ['job 1'],
      byEither: true, // of which the one comes when the other stands no more
      told: (client) => standTogether(client, during),
      declared: [{ call: /^enqueue$/, kind: 'lost', complaint: /stand at once/ }],
      askedMs: 3_000,
    }),
  ),
  {
    name: 'a debounced job',
    app: (did) => ({
      jobs: [counted('job', did, { debounce: { key: () => 'd', waitMs: 5_000, maxWaitMs: 20_000 } })],
    }),
    begin: (client) => later(client, 1),
    act: (client) => later(client, 2),
    effects: ['job 2'],
    allowed: ['job 1'],
    byEither: true, // where the first has begun by then
    askedMs: 20_000,
  },
  {
    name: 'a payload that is offloaded',
    payloads: true,
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'job',
          payload: z.object({ text: z.string() }),
          handle: ({ text }, ctx) => did(`${text.length} characters`, ctx),
        }),
      ],
    }),
    begin: (client) => client.enqueue(jobOf<{ text: string }>(client, 'job'), { text: 'x'.repeat(40_000) }),
    effects: ['40000 characters'],
  },
  {
    name: 'a job whose record is not kept',
    app: (did) => ({ jobs: [counted('job', did, { retention: { completedMs: 0, deadMs: 0 } })] }),
    begin: (client) => later(client, 1),
    effects: ['job 1'],
  },
  {
    name: 'a dead letter that is edited and retried',
    app(did) {
      return {
        jobs: [
          defineJob({
            name: 'job',
            payload: item,
            handle({ n }, ctx) {
              if (n === 1) throw new PermanentError('It never works.');
              did(`job ${n}`, ctx);
            },
          }),
        ],
      };
    },
    begin: (client) => later(client, 1),
    async act(client) {
      const id = await idOf(client, 'job');
      const status = (await client.status(id))?.status;
      if (status === 'completed') return;
      if (status !== 'failed') throw new Error('It has not died yet.');
      await createOperator(client, { actor: 'anna', from: 'cli' }).deadLetters.edit(id, {
        payload: { n: 2 },
      });
    },
    effects: ['job 2'],
  },
  {
    name: 'a waiting job that is changed and promoted',
    app: (did) => ({ jobs: [counted('job', did)] }),
    begin: (client) => later(client, 1, { delayMs: 3_600_000 }),
    async act(client) {
      const id = await idOf(client, 'job');
      if (await client.update(jobOf<Item>(client, 'job'), id, { payload: { n: 2 } }))
        await client.promote(id);
    },
    effects: ['job 2'],
  },
  {
    name: 'a waiting job that is cancelled',
    app: (did) => ({ jobs: [counted('job', did), counted('other', did)] }),
    async begin(client) {
      await later(client, 1, { delayMs: 10_000 });
      await client.enqueue(jobOf<Item>(client, 'other'), { n: 1 });
    },
    act: async (client) => client.cancel(await idOf(client, 'job')),
    effects: ['other 1'],
    allowed: ['job 1'], // where the cancel comes too late
    cancelled: ['job'],
  },
];
