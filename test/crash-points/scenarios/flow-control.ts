/** Limits, rates, groups, breakers and pauses: jobs that wait for one another. */

import * as z from 'zod';
import { defineJob, fixed } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import type { Did, Scenario } from '../types.ts';
import { counted, jobOf } from './single-jobs.ts';

const item = z.object({ n: z.number() });
type Item = z.infer<typeof item>;

/** Does `<name> <n>` after a second. */
const slow = (did: Did, after: (ms: number, run: () => void) => unknown, options: object) =>
  defineJob({
    name: 'job',
    payload: item,
    async handle({ n }, ctx) {
      await new Promise<void>((resolve) => void after(1_000, resolve));
      did(`job ${n}`, ctx);
    },
    ...options,
  });

const three: Pick<Scenario, 'begin' | 'effects'> = {
  begin: (client) => client.enqueueMany(jobOf<Item>(client, 'job'), [{ n: 1 }, { n: 2 }, { n: 3 }]),
  effects: ['job 1', 'job 2', 'job 3'],
};

const inGroup = (onRetry: 'wait' | 'step-aside'): Scenario => ({
  name: `an ordered group, on a retry: ${onRetry}`,
  app: (did) => ({
    jobs: [
      defineJob({
        name: 'job',
        queue: 'ledger',
        payload: item,
        retry: fixed(5_000),
        handle({ n }, ctx) {
          if (n === 1 && ctx.attempt === 1) throw new Error('The first attempt fails.');
          did(`job ${n}`, ctx);
        },
      }),
    ],
    queues: { ledger: { order: { by: 'group', onRetry } } },
  }),
  async begin(client) {
    for (const n of [1, 2, 3]) await client.enqueue(jobOf<Item>(client, 'job'), { n }, { group: 'g' });
  },
  effects: ['job 1', 'job 2', 'job 3'],
  ...(onRetry === 'wait' ? { order: [['job 1', 'job 2', 'job 3']] } : { order: [['job 2', 'job 3']] }),
  askedMs: 5_000,
});

export const flowControl: readonly Scenario[] = [
  {
    name: 'a limit of concurrency',
    ...three,
    app: (did, { after }) => ({ jobs: [slow(did, after, { concurrency: { limit: 1 } })] }),
    askedMs: 3_000,
  },
  {
    name: 'a limit of concurrency by key, and of the queue',
    ...three,
    app: (did, { after }) => ({
      jobs: [slow(did, after, { concurrency: { limit: 1, key: ({ n }: Item) => `k${n % 2}` } })],
      queues: { default: { concurrency: { limit: 2 } } },
    }),
    askedMs: 3_000,
  },
  {
    name: 'a limit and a last attempt',
    ...three,
    app: (did, { after }) => ({ jobs: [slow(did, after, { single: true, maxRetries: 0 })] }),
    askedMs: 3_000,
    mayDie: ['job'],
  },
  {
    name: 'a rate',
    ...three,
    app: (did) => ({ jobs: [counted('job', did, { rate: { limit: 1, perMs: 5_000 } })] }),
    askedMs: 20_000,
  },
  {
    name: 'a fair group',
    app: (did) => ({ jobs: [counted('job', did)] }),
    async begin(client) {
      for (const n of [1, 2, 3])
        await client.enqueue(jobOf<Item>(client, 'job'), { n }, { group: `g${n % 2}` });
    },
    effects: ['job 1', 'job 2', 'job 3'],
  },
  inGroup('wait'),
  inGroup('step-aside'),
  {
    name: 'a breaker',
    app: (did) => ({
      jobs: [
        defineJob({
          name: 'job',
          payload: item,
          retry: fixed(1_000),
          maxRetries: 5,
          breaker: { failures: 2, openMs: 10_000 },
          handle({ n }, ctx) {
            if (ctx.attempt <= 2) throw new Error('The service is down.');
            did(`job ${n}`, ctx);
          },
        }),
      ],
    }),
    begin: (client) => client.enqueueMany(jobOf<Item>(client, 'job'), [{ n: 1 }, { n: 2 }]),
    effects: ['job 1', 'job 2'],
    askedMs: 60_000,
  },
  {
    name: 'a job that is paused and resumed',
    app: (did) => ({ jobs: [counted('job', did)] }),
    async begin(client) {
      await createOperator(client, { actor: 'anna', from: 'cli' }).jobs.pause('job');
      await client.enqueueMany(jobOf<Item>(client, 'job'), [{ n: 1 }, { n: 2 }]);
    },
    act: (client) => createOperator(client, { actor: 'anna', from: 'cli' }).jobs.resume('job'),
    effects: ['job 1', 'job 2'],
    // Taken out of their line and not woken: they come by themselves, within 10 minutes.
    declared: [
      { call: /^stores\.limits\.wake$/, kind: 'after', complaint: /./ },
      { call: /^stores\.limits\.wake$/, kind: 'lost', complaint: /./ },
      { call: /^stores\.limits\.wake$/, kind: 'twice', complaint: /./ },
      { call: /^pending\.change$/, kind: 'before', complaint: /./ },
    ],
  },
  {
    name: 'a queue that is paused and resumed',
    app: (did) => ({ jobs: [counted('job', did)] }),
    async begin(client) {
      await client.backend.admin!.setPaused('default', true);
      await client.enqueueMany(jobOf<Item>(client, 'job'), [{ n: 1 }, { n: 2 }]);
    },
    act: (client) => client.backend.admin!.setPaused('default', false),
    effects: ['job 1', 'job 2'],
  },
];
