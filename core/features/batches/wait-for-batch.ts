/** `ctx.waitForBatch`: the job sleeps until an event reports that all children of the batch have ended. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { BatchState } from '../../contract/derived/batches.ts';
import type { BatchEnd, BatchSummary } from '../../kernel/app/batch.ts';
import type { WaitOptions } from '../../kernel/app/durable.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted } from '../../kernel/attempt/attempt.ts';
import { waitFor } from '../steps/handler.ts';
import { storeOf } from './check.ts';
import { endEvent } from './complete.ts';
import { planOf } from './plan.ts';
import { readResults } from './results.ts';

export async function waitForBatch(
  it: Admitted,
  batch: string | { readonly id: string },
  options: Omit<WaitOptions, 'key'>,
): Promise<BatchEnd | null> {
  const id = typeof batch === 'string' ? batch : batch?.id;
  if (typeof id !== 'string')
    throw new LongshoreError('OPTION', `Expected ctx.waitForBatch(batch or its id, …), got ${shown(batch)}.`);
  const { client } = it.ports;
  const store = storeOf(client);
  // Read after the wait is registered, because the batch may have ended before.
  const ended = async () => {
    const state = await store.get(id);
    if (!state) throw new LongshoreError('NOT_FOUND', `There is no batch ${shown(id)} here.`);
    return state.completedAt === null ? null : summaryOf(state);
  };
  const got = await waitFor(it, endEvent, { ...options, key: id }, ended);
  if (!got) return null;
  const state = await answered(it, 'The store of batches', store.get(id));
  // A failed child may have been retried since. Report the present state, to match the present results.
  const isOver = state !== null && state.completedAt !== null;
  const { total, succeeded, failed } = isOver ? summaryOf(state) : (got.payload as BatchSummary);
  const isKept = state !== null && planOf(state).results === 'kept';
  const kept = isKept ? await answered(it, 'The step store', readResults(client, id, state.sent)) : null;
  const results = kept ? kept.values.map((value) => value ?? null) : null;
  return { total, succeeded, failed, results };
}

function summaryOf(state: BatchState): BatchSummary {
  const { id: batchId, sent: total, succeeded, failed } = state;
  return { batchId, name: planOf(state).name, total, succeeded, failed };
}
