/** The kinds of jobs whose dollars the pages of the clouds tell. */

import * as z from 'zod';
import { defineJob } from '../../../core/index.ts';

export const minute = 60_000;
export const common = { queue: 'mail', payload: z.object({ n: z.number() }), handle: () => 'done' };
export const rate = { limit: 1_000, perMs: minute };
export const kinds = {
  plain: defineJob({ name: 'plain', ...common }),
  key: defineJob({ name: 'key', ...common, idempotencyKey: ({ n }) => `k${n}` }),
  unique: defineJob({ name: 'unique', ...common, unique: { key: ({ n }) => `u${n}`, during: 'either' } }),
  concurrency: defineJob({ name: 'concurrency', ...common, concurrency: { limit: 10 } }),
  smooth: defineJob({ name: 'smooth', ...common, rate: { ...rate, smooth: true } }),
  rate: defineJob({ name: 'rate', ...common, rate }),
  steps: defineJob({
    name: 'steps',
    ...common,
    async handle(_, { step }) {
      for (const name of ['a', 'b', 'c']) await step(name, () => name);
      return 'done';
    },
  }),
};
