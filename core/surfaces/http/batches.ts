/** `GET /batches/:id`, `POST /batches/:id/cancel` and `POST /batches/:id/retry`. Loaded with the first of them. */

import { shown } from '../../base/errors.ts';
import { batchPattern } from '../../features/batches/ids.ts';
import type { Batch } from '../../kernel/app/batch.ts';
import { asked } from './asked.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { Refusal } from './problem.ts';
import { iso } from './records.ts';

const noBatches =
  'Expected a queue that keeps batches, got one that does not. Look at the jobs by their ids.';

export async function showBatch(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  return { status: 200, body: viewOf(await mine(endpoint, call, id)) };
}

export async function cancelBatch(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  await mine(endpoint, call, id);
  const { batches } = endpoint.client;
  const result = await asked('cancelling a batch', () => batches.cancel(id), noBatches);
  // Its children that run are aborted by their workers, and may finish first.
  if (result === 'cancelled') return { status: 200, body: viewOf(await mine(endpoint, call, id)) };
  if (result === 'unknown') throw unknown(id);
  const detail = `Expected a batch that goes on, got one whose children have all ended. GET ${endpoint.basePath}/batches/${id} says how.`;
  throw new Refusal(409, 'CONFLICT', detail);
}

export async function retryBatch(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  await mine(endpoint, call, id);
  const { batches } = endpoint.client;
  const retried = await asked('retrying what failed', () => batches.retryFailed(id), noBatches);
  return { status: 200, body: { ...viewOf(await mine(endpoint, call, id)), retried } };
}

/** Another's batch is answered like one that does not exist. */
async function mine({ client }: Endpoint, { caller }: Call, id: string): Promise<Batch> {
  // A batch may have children of any job, and does not remember which.
  if (caller.jobs !== null) {
    const detail =
      'Expected a credential that is bound to no jobs, got one that is. Ask for one without "jobs" to see batches.';
    throw new Refusal(403, 'FORBIDDEN', detail);
  }
  if (!batchPattern.test(id)) throw unknown(id);
  const batch = await asked('reading a batch', () => client.batches.get(id), noBatches);
  if (batch && (caller.tenantId === null || batch.tenantId === caller.tenantId)) return batch;
  throw unknown(id);
}

function unknown(id: string): Refusal {
  const detail = `Expected the id of a batch that is still kept and yours, got ${shown(id)}. Check it: batch() has told it.`;
  return new Refusal(404, 'NOT_FOUND', detail);
}

/** Times as RFC 3339, like everywhere in this API. */
function viewOf(batch: Batch): Record<string, unknown> {
  const { createdAt, changedAt, completedAt } = batch;
  return {
    ...batch,
    createdAt: iso(createdAt),
    changedAt: iso(changedAt),
    completedAt: completedAt === null ? null : iso(completedAt),
  };
}
