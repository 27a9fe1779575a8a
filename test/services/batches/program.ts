/** An importer or a worker of a batch, which kills itself at a step. */

import { appendFileSync } from 'node:fs';
import * as z from 'zod';
import type { Clock } from '../../../core/base/clock.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';

export const rows = 60;
export const id = 'import-1';

/** Nothing is left of what has completed: the queue would take its id for a new one. */
const retention = { completedMs: 0 };

export function open(kind: string, url: string, clock?: Clock): QueueBackend {
  const at = { retention, ...(clock && { clock }) };
  if (kind === 'sqlite') return sqlite({ path: url, ...at });
  return kind === 'postgres' ? postgres({ url, ...at }) : redis({ url, ...at });
}

/** @param effects the file that every effect is a line of */
export function shop(effects: string, clock?: Clock) {
  const write = (line: string) => appendFileSync(effects, `${line}\n`);
  const row = defineJob({
    name: 'row',
    payload: z.object({ row: z.number() }),
    maxRetries: 20,
    async handle({ row }) {
      write(`row ${row}`);
    },
  });
  const call = (name: string) =>
    defineJob({
      name,
      payload: z.object({ total: z.number(), succeeded: z.number(), failed: z.number() }),
      async handle({ total, succeeded, failed }, { id }) {
        write(`${name} ${total} ${succeeded} ${failed}, job ${id}`);
      },
    });
  const [onSuccess, onFailure, onComplete] = [call('success'), call('failure'), call('complete')];
  const app = createApp({
    jobs: [row, onSuccess, onFailure, onComplete],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    ...(clock && { clock }),
  });
  async function* items() {
    for (let n = 0; n < rows; n++) yield { row: n };
  }
  return {
    app,
    send: (backend: QueueBackend) =>
      connect(app, backend).batch('rows', items(), {
        ...{ id, job: row, onSuccess, onFailure, onComplete, chunkSize: 10 },
      }),
  };
}

/** Ends this process before or after the call `last` of this verb. */
function killing(backend: QueueBackend, verb: string, last: number, when: string): QueueBackend {
  let count = 0;
  const wrap =
    <Args extends unknown[], T>(name: string, call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      const isLast = name === verb && ++count === last;
      if (isLast && when === 'before') process.kill(process.pid, 'SIGKILL');
      const answer = await call(...args);
      if (isLast) process.kill(process.pid, 'SIGKILL');
      return answer;
    };
  const { open, sent, ended, called } = backend.stores!.batches!;
  const batches = {
    ...backend.stores!.batches!,
    open: wrap('open', open),
    sent: wrap('sent', sent),
    ended: wrap('ended', ended),
    called: wrap('called', called),
  };
  const { hints: _, ...rest } = backend;
  return {
    ...rest,
    stores: { ...backend.stores!, batches },
    enqueue: wrap('enqueue', backend.enqueue),
    ack: wrap('ack', backend.ack),
  };
}

if (import.meta.main) {
  const [role, kind, url, effects, verb, call, when] = process.argv.slice(2) as [string, ...string[]];
  const { app, send } = shop(effects!);
  const backend = killing(open(kind!, url!), verb!, Number(call), when!);
  if (role === 'importer') await send(backend);
  else await startWorker(app, { backend, concurrency: 7, untilIdle: true }).done;
  process.stdout.write('it was not killed');
  process.exit(0);
}
