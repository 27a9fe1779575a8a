/** A worker of a chain, which kills itself after a number of writes. */

import { appendFileSync } from 'node:fs';
import * as z from 'zod';
import type { Clock } from '../../../core/base/clock.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { open } from '../batches/program.ts';

export { open };

/** @param effects the file that every effect is a line of */
export function chained(effects: string, clock?: Clock) {
  const append = (letter: string) =>
    defineJob({
      name: `append.${letter}`,
      payload: z.any(),
      maxRetries: 20,
      handle(given: unknown, { id }): string {
        const made = `${[given].flat().join('+')}${letter}`;
        appendFileSync(effects, `${id} ${made}\n`);
        return made;
      },
    });
  const [a, b, c, d] = [append('a'), append('b'), append('c'), append('d')];
  /** Waits for a batch of its own. */
  const nest = defineJob({
    name: 'nest',
    payload: z.any(),
    maxRetries: 20,
    async handle(given: string, ctx) {
      const batch = await ctx.batch('inner', [1, 2].map(String), { job: b, keepResults: true });
      const end = await ctx.waitForBatch<string>(batch, { timeoutMs: '1h' });
      return `${given}(${end!.results!.join(' ')})`;
    },
  });
  const app = createApp({
    jobs: [a, b, c, d, nest],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    ...(clock && { clock }),
  });
  const send = (backend: QueueBackend, id: string) =>
    connect(app, backend).chain([a, [b, c], nest, d], '>', { id });
  return { app, send };
}

/** Ends this process after so many writes, whatever they are. */
function killing(backend: QueueBackend, after: number): QueueBackend {
  let count = 0;
  const wrap =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      const answer = await call(...args);
      if (++count === after) process.kill(process.pid, 'SIGKILL');
      return answer;
    };
  const { batches, steps } = backend.stores!;
  const { open, sent, ended, called } = batches!;
  const { hints: _, begin, enqueueIn, ...rest } = backend;
  return {
    ...rest,
    stores: {
      ...backend.stores!,
      batches: { ...batches!, open: wrap(open), sent: wrap(sent), ended: wrap(ended), called: wrap(called) },
      steps: { ...steps!, write: wrap(steps!.write), remove: wrap(steps!.remove) },
    },
    enqueue: wrap(backend.enqueue),
    ack: wrap(backend.ack),
    nack: wrap(backend.nack),
    ...(enqueueIn && { enqueueIn: wrap(enqueueIn) }),
    ...(begin && {
      async begin() {
        const tx = await begin();
        return { ...tx, ack: wrap(tx.ack), rollback: tx.rollback, sql: tx.sql };
      },
    }),
  };
}

if (import.meta.main) {
  const [kind, url, effects, after] = process.argv.slice(2) as [string, string, string, string];
  const { app, send } = chained(effects);
  const plain = open(kind, url);
  await send(plain, 'x');
  const backend = killing(plain, Number(after));
  await startWorker(app, { backend, concurrency: 1, untilIdle: true }).done;
  process.stdout.write('it was not killed');
  process.exit(0);
}
