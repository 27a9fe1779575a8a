/** Loaded with the first batch. */

import { createHash } from 'node:crypto';
import { steadyNow } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { reportingFailures } from '../../base/failure.ts';
import { isIterable } from '../../base/slices.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { childOf } from '../../envelope/flow-ids.ts';
import type { Batch, Items } from '../../kernel/app/batch.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted, Attempt, End, Maybe } from '../../kernel/attempt/attempt.ts';
import { keptOf } from '../../kernel/attempt/verdict.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { wrongOption } from '../../kernel/enqueue/prepare.ts';
import type { AnyBatchOptions } from './check.ts';
import { markEnded } from './marks.ts';

export { checkUp } from './check-up.ts';
export { isolatedBatch, isolatedWaitForBatch } from './isolated.ts';
export { batchesOf } from './manage.ts';
export { markGone } from './marks.ts';
export { sendBatch } from './send.ts';
export { waitForBatch } from './wait-for-batch.ts';
export { watchBatch } from './watch.ts';

/**
 * Counts a child of a batch when it ends for good. The mark is written before the settlement: if the settlement then fails, the child runs again
 * and is not counted twice. A settled child without a mark would have to be found by its record, which may be deleted by then. With a
 * transaction the mark is written after the commit.
 */
export async function markEnd(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Promise<boolean> {
  if (end.verdict.verb !== 'ack' && end.verdict.verb !== 'abandon') return next(end);
  const isOurs = it.run.tx === null && steadyNow(it.app.clock) < it.run.expiresAt;
  if (isOurs && !(await mark(it, end))) expectRecord(it, end);
  const settled = await next(end);
  if (settled && !isOurs) await mark(it, end);
  return settled;
}

/** A child without a mark is found by its record. If no record will be written, the child is not settled and comes back when its lease ends. */
function expectRecord(it: Attempt, { verdict }: End): void {
  const { run, envelope, ports } = it;
  const { records } = ports.client.stores;
  const { keepMs } = keptOf(it, verdict.verb === 'abandon' ? verdict.reason : null);
  if (records.recordsDisabled || keepMs === 0) throw unmarked(envelope!.identifier);
  if (records.writer) run.needsRecord = unmarked(envelope!.identifier);
}

const unmarked = (id: string): LongshoreError =>
  new LongshoreError(
    'BACKEND',
    `The end of job ${id} could not be recorded, so its batch would never finish. The job is not settled; it comes back when its lease ends.`,
  );

/** Resolves with whether the mark was written. */
async function mark(it: Attempt, { verdict }: End): Promise<boolean> {
  const id = it.envelope!.identifier;
  const child = childOf(id);
  if (!child) return true;
  const { app, ports } = it;
  const end = { ...child, failed: verdict.verb === 'abandon' };
  const write = () => answered(it, 'The store of batches', markEnded(ports.client, end));
  const marked = await reportingFailures(app.events, 'counting a child of a batch', [id], write, 'batch');
  return marked !== null;
}

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

/** Stops sending when the attempt has ended. */
async function* until(items: Items<unknown>, signal: AbortSignal): AsyncGenerator<unknown> {
  for await (const item of items) {
    signal.throwIfAborted();
    yield item;
  }
}
