/** Batches, chains, steps, events and schedules: work that goes on from where something else has ended. */

import * as z from 'zod';
import { defineJob, defineSchedule, fixed, PermanentError } from '../../../core/index.ts';
import type { Scenario } from '../types.ts';
import { counted, jobOf } from './single-jobs.ts';

const item = z.object({ n: z.number() });
type Item = z.infer<typeof item>;
const anything = z.unknown();
/** The idempotency key of what a schedule enqueues for one moment. */
const moment = /^schedule:s@/;

export const workTogether: readonly Scenario[] = [
  {
    name: 'a batch that calls others at its end',
    app: (did) => ({
      jobs: [
        counted('child', did),
        defineJob({ name: 'complete', payload: anything, handle: (_, ctx) => did('complete', ctx) }),
        defineJob({ name: 'success', payload: anything, handle: (_, ctx) => did('success', ctx) }),
      ],
    }),
    act: (client) =>
      client.batch('b', [{ n: 1 }, { n: 2 }, { n: 3 }], {
        id: 'b1',
        chunkSize: 2,
        job: jobOf<Item>(client, 'child'),
        onComplete: jobOf(client, 'complete'),
        onSuccess: jobOf(client, 'success'),
      }),
    effects: ['child 1', 'child 2', 'child 3', 'complete', 'success'],
  },
  {
    name: 'a batch with a child that fails',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'child',
          payload: item,
          handle({ n }, ctx) {
            if (n === 2) throw new PermanentError('It never works.');
            did(`child ${n}`, ctx);
          },
        }),
        defineJob({
          name: 'complete',
          payload: z.object({ failed: z.number() }),
          handle: ({ failed }, ctx) => did(`complete, ${failed} failed`, ctx),
        }),
        defineJob({ name: 'failure', payload: anything, handle: (_, ctx) => did('failure', ctx) }),
      ],
    }),
    begin: (client) =>
      client.batch('b', [{ n: 1 }, { n: 2 }], {
        id: 'b1',
        job: jobOf<Item>(client, 'child'),
        onComplete: jobOf(client, 'complete'),
        onFailure: jobOf(client, 'failure'),
      }),
    effects: ['child 1', 'complete, 1 failed', 'failure'],
    dead: ['child'],
  },
  {
    name: 'a batch in a job that waits for it',
    app: (did) => {
      const child = defineJob({
        name: 'child',
        payload: item,
        handle({ n }, ctx) {
          did(`child ${n}`, ctx);
          return n * 2;
        },
      });
      const parent = defineJob({
        name: 'parent',
        payload: anything,
        async handle(_, ctx) {
          const batch = await ctx.batch('inner', [{ n: 1 }, { n: 2 }], { job: child, keepResults: true });
          const end = await ctx.waitForBatch<number>(batch, { timeoutMs: '2h' });
          did(`results ${end?.results}`, ctx);
        },
      });
      return { jobs: [child, parent] };
    },
    begin: (client) => client.enqueue(jobOf(client, 'parent'), {}),
    effects: ['child 1', 'child 2', 'results 2,4'],
  },
  {
    name: 'a chain with a fan-in',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'head',
          payload: item,
          handle({ n }, ctx) {
            did('head', ctx);
            return { n };
          },
        }),
        ...['left', 'right'].map((name) =>
          defineJob({
            name,
            payload: item,
            handle({ n }, ctx) {
              did(name, ctx);
              return n + 1;
            },
          }),
        ),
        defineJob({
          name: 'tail',
          payload: z.array(z.number()),
          handle: (all, ctx) => did(`tail ${all}`, ctx),
        }),
      ],
    }),
    act: (client) => {
      const [head, left, right, tail] = ['head', 'left', 'right', 'tail'].map((name) => jobOf(client, name));
      return client.chain([head, [left, right], tail] as never, { n: 1 } as never, { id: 'c1' });
    },
    effects: ['head', 'left', 'right', 'tail 2,2'],
  },
  {
    name: 'steps with a sleep',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'job',
          payload: anything,
          async handle(_, ctx) {
            const first = await ctx.step('charge', () => {
              did('charge', ctx);
              return 1;
            });
            await ctx.sleep(10_000);
            await ctx.step('ship', () => did(`ship ${first}`, ctx));
          },
        }),
      ],
    }),
    begin: (client) => client.enqueue(jobOf(client, 'job'), {}),
    effects: ['charge', 'ship 1'],
    order: [['charge', 'ship 1']],
    askedMs: 10_000,
  },
  {
    name: 'steps in pieces',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'job',
          payload: anything,
          async handle(_, ctx) {
            const found: string[] = [];
            for (const name of ['a', 'b', 'c', 'd']) {
              const result = await ctx.step(name, () => {
                did(name, ctx);
                return name.padEnd(70_000);
              });
              found.push(result.trim());
            }
            did(`all of ${found}`, ctx);
          },
        }),
      ],
    }),
    begin: (client) => client.enqueue(jobOf(client, 'job'), {}),
    effects: ['a', 'b', 'c', 'd', 'all of a,b,c,d'],
    order: [['a', 'b', 'c', 'd', 'all of a,b,c,d']],
  },
  {
    name: 'a job that waits for an event',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'job',
          payload: anything,
          async handle(_, ctx) {
            const event = await ctx.waitFor<string>('packed', { key: 'k', timeoutMs: '2h' });
            did(`packed by ${event?.payload}`, ctx);
          },
        }),
      ],
    }),
    begin: (client) => client.enqueue(jobOf(client, 'job'), {}),
    async act(client) {
      await client.emit('packed', 'anna', { key: 'k', keepMs: 600_000 });
    },
    effects: ['packed by anna'],
  },
  {
    name: 'a job that waits for an event and was there first',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'job',
          payload: anything,
          async handle(_, ctx) {
            const event = await ctx.waitFor<string>('packed', { key: 'k', timeoutMs: '2h' });
            did(`packed by ${event?.payload}`, ctx);
          },
        }),
      ],
    }),
    begin: (client) => client.enqueue(jobOf(client, 'job'), {}),
    async act(client) {
      const [record] = (await client.stores.records.page({ job: 'job' })).records;
      if (record?.status === 'completed') return;
      if ((await client.emit('packed', 'anna', { key: 'k' })) === 0)
        throw new Error('Nobody waits for it yet.');
    },
    effects: ['packed by anna'],
  },
  {
    name: 'a schedule made at run time',
    app: (did) => ({
      jobs: [
        defineJob({ name: 'job', payload: anything, handle: (_, ctx) => did(`${ctx.idempotencyKey}`, ctx) }),
      ],
    }),
    async act(client) {
      await client.schedules.upsert({
        name: 's',
        everyMs: 30_000,
        job: jobOf(client, 'job'),
        payload: {},
        missed: 'all',
      });
    },
    effects: [],
    allowed: [moment],
    isEnough: (effects) => effects.length >= 3,
    endless: true,
    askedMs: 90_000,
  },
  {
    name: 'a schedule that does not overlap',
    app(did, { after }) {
      const job = defineJob({
        name: 'job',
        payload: anything,
        async handle(_, ctx) {
          await new Promise<void>((resolve) => void after(12_000, resolve));
          did(`${ctx.idempotencyKey}`, ctx);
        },
      });
      return {
        jobs: [job],
        schedules: [defineSchedule({ name: 's', everyMs: 10_000, job, payload: {}, overlap: 'skip' })],
      };
    },
    effects: [],
    allowed: [moment],
    isEnough: (effects) => effects.length >= 2,
    endless: true,
    askedMs: 60_000,
  },
  {
    name: 'a child that is retried',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'child',
          payload: item,
          retry: fixed(2_000),
          handle({ n }, ctx) {
            if (ctx.attempt === 1) throw new Error('The first attempt fails.');
            did(`child ${n}`, ctx);
          },
        }),
        defineJob({
          name: 'results',
          payload: z.object({ results: z.array(z.unknown()) }),
          handle: ({ results }, ctx) => did(`${results.length} results`, ctx),
        }),
      ],
    }),
    begin: (client) =>
      client.batch('b', [{ n: 1 }, { n: 2 }], {
        id: 'b1',
        job: jobOf<Item>(client, 'child'),
        onResults: jobOf(client, 'results') as never,
      }),
    effects: ['child 1', 'child 2', '2 results'],
    askedMs: 2_000,
  },
];
