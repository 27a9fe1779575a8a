/** Enqueues the callbacks of a batch once: their ids are derived from the batch, and the store records that they were sent. */

import { backendError } from '../../base/failure.ts';
import type { BatchState } from '../../contract/derived/batches.ts';
import type { EndName } from '../../envelope/flow-ids.ts';
import type { BatchSummary } from '../../kernel/app/batch.ts';
import { bring } from '../steps/emit.ts';
import { type CallingClient, enqueueCalls } from './calls.ts';
import { handResults } from './hand-results.ts';
import { outcomeOf } from './outcome.ts';
import { type Plan, verifiedPlan } from './plan.ts';

/** The event that `ctx.waitForBatch` waits for. */
export const endEvent = 'longshore.batch-end';

/** Never rejects: a failure is repeated by a worker that looks for such batches. */
export async function complete(client: CallingClient, id: string): Promise<void> {
  try {
    const state = await client.stores.batches!.get(id);
    if (state) await call(client, state);
  } catch (cause) {
    const during = `calling what comes after batch ${id}`;
    const { name: backend } = client.backend;
    client.app.events.emit({ type: 'backend.failed', backend, during, error: backendError(during, cause) });
  }
}

async function call(client: CallingClient, state: BatchState): Promise<void> {
  const { id, round, completedAt, called } = state;
  if (completedAt === null || called) return;
  const plan = verifiedPlan(client.app, state);
  const summary: BatchSummary = {
    batchId: id,
    name: plan.name,
    total: state.sent,
    succeeded: state.succeeded,
    failed: state.failed,
  };
  const handing = plan.calls.onResults !== undefined || plan.chain !== undefined;
  const handed = handing ? await handResults(client, state, plan) : null;
  if (handed?.complete != null) await complete(client, handed.complete);
  const ends = endsOf(plan, state, handed?.failed === true).filter((end) => end !== 'onResults');
  await enqueueCalls(client, ends, plan, id, round, summary);
  if (client.stores.steps) await bring([client], endEvent, summary, { key: id });
  await client.stores.batches!.called(id, round);
  if (plan.results === 'until') await handed?.remove?.();
}

/** The callbacks of a complete batch. @param isUnfit `true` = the results of its children cannot be passed on */
export function endsOf({ calls, allowFailures }: Plan, state: BatchState, isUnfit = false): EndName[] {
  const isSuccess = !isUnfit && outcomeOf(allowFailures, state) === 'succeeded';
  const ends: EndName[] = [isSuccess ? 'onSuccess' : 'onFailure', 'onComplete'];
  if (isSuccess && state.failed === 0) ends.push('onResults');
  return ends.filter((end) => calls[end] !== undefined);
}
