/** What people see of a job with steps: what it remembers, and why it waits. */

import { expect, it } from 'vitest';
import { whyWaits } from '../../../core/features/limits/explain.ts';
import { stepsOf } from '../../../core/features/steps/show.ts';
import { bench, job } from './kit.ts';

const day = 86_400_000;

it('a job says what it remembers, and until when it sleeps or waits', async () => {
  const work = job({
    async handle(_, ctx) {
      await ctx.step('charge', () => ({ id: 'p-1', apiKey: 'k' }));
      await ctx.step('nothing', () => {});
      await ctx.sleep('1d');
      await ctx.waitFor('approved', { timeoutMs: '1d' });
      await ctx.waitFor('packed', { key: '7', timeoutMs: '2d' });
    },
  });
  const b = bench({ jobs: [work] });
  const startedAt = b.clock.now();
  const see = async () => ({
    steps: (await stepsOf(b.client.stores, 'id-1', b.clock.now())).steps.map(({ name, state, value }) => [
      ...[name, state, value],
    ]),
    why: (await whyWaits(b.client, (await b.client.status('id-1'))!))[0],
  });
  await b.once(work);
  const done = [
    ['charge', 'done', { id: 'p-1', apiKey: '[masked]' }],
    ['nothing', 'done', null],
  ];
  expect(await see()).toEqual({
    steps: [...done, ['sleep:1', 'sleeps', null]],
    why: `sleeps until ${new Date(startedAt + day).toISOString()} (in 24 h)`,
  });
  b.clock.advance(day);
  await b.next();
  await b.client.emit('approved', { by: 'Anna' });
  await b.next();
  expect(await see()).toEqual({
    steps: [
      ...done,
      ['sleep:1', 'slept', null],
      ['wait:approved', 'received', { by: 'Anna' }],
      ['wait:packed:7', 'waits', null],
    ],
    why: `waits for event packed with key "7", until ${new Date(b.clock.now() + 2 * day).toISOString()} (in 2 d)`,
  });
});
