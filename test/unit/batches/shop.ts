/** An app with a job for rows, and what a batch of them calls. */

import * as z from 'zod';
import { createApp, defineJob } from '../../../core/index.ts';
import { testApp } from '../../testing/index.ts';

export const summary = z.object({
  batchId: z.string(),
  name: z.string(),
  total: z.number(),
  succeeded: z.number(),
  failed: z.number(),
});

export function shop(fails: (row: number) => boolean = () => false) {
  const rows: number[] = [];
  const calls: [string, z.infer<typeof summary>, string | undefined][] = [];
  const row = defineJob({
    name: 'row',
    payload: z.object({ row: z.number() }),
    maxRetries: 0,
    async handle({ row }) {
      if (fails(row)) throw new Error(`row ${row} is bad`);
      rows.push(row);
    },
  });
  const call = (name: string) =>
    defineJob({
      name,
      payload: summary,
      async handle(payload, { context }) {
        calls.push([name, payload, context.tenantId]);
      },
    });
  const [done, failed, over] = [call('done'), call('failed'), call('over')];
  const t = testApp(createApp({ jobs: [row, done, failed, over] }));
  return { ...t, rows, calls, row, ends: { onSuccess: done, onFailure: failed, onComplete: over } };
}

export const items = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ row: from + i }));
