/** Projects for `longshore simulate functions`. */

import { from } from '../../e2e/cli/kit.ts';

/** A job that ends as its payload says. */
export const main = `
  import { createApp, defineJob, defineSchedule, fixed, PermanentError } from ${from('core/index.ts')};
  import { azure } from ${from('functions/azure/index.ts')};
  import { memoryStore } from ${from('local/backends/memory/index.ts')};
  import * as z from ${from('node_modules/zod/index.js')};
  export const job = defineJob({
    name: 'ends', queue: 'mail', payload: z.object({ how: z.string() }), maxRetries: 1, retry: fixed(100),
    async handle({ how }, ctx) {
      console.log('job ' + how + ' ' + ctx.attempt);
      if (how === 'badly') throw new PermanentError('no such order');
      if (how === 'late' && ctx.attempt === 1) throw new Error('not yet');
      if (how === 'never') await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)));
    },
  });
  export const app = createApp({
    jobs: [job],
    schedules: [defineSchedule({ name: 'nightly', cron: '0 2 * * *', job, payload: { how: 'well' } })],
  });
  export const store = memoryStore();
  azure(app, { connection: 'SHOP_BUS', store, drainMs: 300, apiKeys: [{ id: 'ops', key: 'k'.repeat(32) }] });`;

export const configFor = (hows: readonly string[], entry = './main.ts'): string => `
  import { connect, createApp, defineJob } from ${from('core/index.ts')};
  import { serviceBus } from ${from('functions/azure/index.ts')};
  import { memory, memoryStore } from ${from('local/backends/memory/index.ts')};
  import * as z from ${from('node_modules/zod/index.js')};
  const job = defineJob({ name: 'ends', queue: 'mail', payload: z.object({ how: z.string() }), async handle() {} });
  export const app = createApp({ jobs: [job] });
  export const backend = () => memory();
  export const simulation = {
    functions: {
      entry: ${JSON.stringify(entry)},
      async start({ connectionString }) {
        const bus = serviceBus({ connectionString, queues: ['mail'] });
        const client = connect(app, bus, { store: memoryStore() });
        return {
          async play() {
            for (const how of ${JSON.stringify(hows)}) await client.enqueue(job, { how });
          },
          stop: () => client.close(),
        };
      },
    },
  };`;
