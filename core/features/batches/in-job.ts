/** `ctx.batch`: the id is made of the job's, so an importer that was killed goes on with its next attempt. */

import { createHash } from 'node:crypto';
import { isIterable } from '../../base/slices.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { Batch, Items } from '../../kernel/app/batch.ts';
import type { Admitted } from '../../kernel/attempt/attempt.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { wrongOption } from '../../kernel/enqueue/prepare.ts';
import type { AnyBatchOptions } from './check.ts';

const namesOf = new WeakMap<object, Set<string>>();

export async function batchInJob(
  { run, envelope, ports }: Admitted,
  context: JobContext,
  name: string,
  items: Items<unknown>,
  options: AnyBatchOptions,
): Promise<Batch> {
  let { id } = options ?? {};
  if (id === undefined) {
    const names = namesOf.get(run) ?? new Set<string>();
    namesOf.set(run, names);
    if (names.has(name))
      throw wrongOption(`batches of one job to have different names, got "${name}" twice. Or give them ids`);
    names.add(name);
    id = createHash('sha256').update(`${envelope.identifier}\n${name}`).digest('hex').slice(0, 32);
  }
  const send = ports.client.batch as unknown as (
    name: string,
    items: Items<unknown>,
    options: AnyBatchOptions,
  ) => ReturnType<Client['batch']>;
  return send(name, isIterable(items) ? until(items, run.signal) : items, { context, ...options, id });
}

/** An attempt that has ended sends no more. */
async function* until(items: Items<unknown>, signal: AbortSignal): AsyncGenerator<unknown> {
  for await (const item of items) {
    signal.throwIfAborted();
    yield item;
  }
}
