/** Enqueues what a batch calls at its end, once: the ids are made of the batch, and the store remembers that they were sent. */

import type { BatchSummary } from '../app/batch.ts';
import { LongshoreError } from '../base/errors.ts';
import { backendError } from '../base/failure.ts';
import type { BatchState } from '../contract/batches.ts';
import type { Client } from '../enqueue/client.ts';
import { enqueueEach } from '../enqueue/enqueue.ts';
import { prepare } from '../enqueue/prepare.ts';
import { type EndName, endId } from './ids.ts';
import { mostFailures, type Plan, verifiedPlan } from './plan.ts';

type CallingClient = Pick<Client, 'app' | 'backend' | 'stores'>;

/** Never rejects: what fails is done again by a worker that looks for such batches. */
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
  const { app, stores } = client;
  const plan = verifiedPlan(app, state);
  const calls = callsOf(plan, state);
  const payload: BatchSummary = {
    batchId: id,
    name: plan.name,
    total: state.sent,
    succeeded: state.succeeded,
    failed: state.failed,
  };
  const results = await enqueueEach(
    client,
    { job: null, queue: null, count: calls.length },
    plan.context ?? {},
    (i, uploads) => {
      const [end, name] = calls[i]!;
      const job = app.jobs.get(name);
      if (!job) throw new LongshoreError('UNKNOWN_JOB', `No job "${name}" is defined here, which is ${end}.`);
      const jobId = endId(id, end, round);
      // The key is for queues that run two copies of an id, and for one that had ended when it came again.
      return prepare(client, job, payload, { idempotencyKey: jobId }, uploads, jobId);
    },
  );
  for (const result of results) if (!result.ok) throw result.error;
  await stores.batches!.called(id, round);
}

/** Of a complete one. */
export function callsOf({ calls, allowFailures }: Plan, state: BatchState): [EndName, string][] {
  const { failed, sent, cancelledAt } = state;
  const isSuccess = cancelledAt === null && failed <= mostFailures(allowFailures, sent);
  const ends: EndName[] = [isSuccess ? 'onSuccess' : 'onFailure', 'onComplete'];
  return ends.flatMap((end) => (calls[end] === undefined ? [] : [[end, calls[end]]]));
}
