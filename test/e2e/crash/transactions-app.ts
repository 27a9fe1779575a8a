/** Jobs whose effects are in the queue's own database: two rows, one further job and the ack, all in one transaction. */

import * as z from 'zod';
import { createApp, defineJob, keyRing } from '../../../core/index.ts';

export const effectsTable = 'CREATE TABLE effects (n int NOT NULL, half text NOT NULL)';

const payload = z.object({ n: z.number() });

export function transactionApp() {
  const follow = defineJob({ name: 'follow', queue: 'follow', payload, handle: () => {} });
  const work = defineJob({
    name: 'work',
    payload,
    transaction: true,
    maxRetries: 100,
    idempotencyKey: ({ n }) => (n % 2 === 0 ? `even ${n}` : null),
    async handle({ n }, ctx) {
      await ctx.tx.query('INSERT INTO effects VALUES ($1, $2)', [n, 'first']);
      await ctx.enqueue(follow, { n }, { tx: ctx.tx });
      await ctx.tx.query('INSERT INTO effects VALUES ($1, $2)', [n, 'second']);
    },
  });
  const app = createApp({
    jobs: [work, follow],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
  });
  return { app, work, follow };
}

/** A job with two steps, each of which shares a transaction with its row. */
export function stepTransactionApp() {
  const work = defineJob({
    name: 'work',
    payload,
    maxRetries: 100,
    async handle({ n }, ctx) {
      for (const half of ['first', 'second'])
        await ctx.step(
          half,
          ({ tx }) => tx.query('INSERT INTO effects VALUES ($1, $2)', [n, half]).then(() => n),
          {
            transaction: true,
          },
        );
    },
  });
  const app = createApp({ jobs: [work], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  return { app, work };
}

/** In relation to one statement. */
export const phases = ['before it is sent', 'after it is sent', 'after it is answered'] as const;
export type Phase = (typeof phases)[number];
