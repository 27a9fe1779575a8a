/** The callbacks of a batch. */

import { LongshoreError } from '../../base/errors.ts';
import { type EndName, endId } from '../../envelope/flow-ids.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { enqueueEach } from '../../kernel/enqueue/enqueue.ts';
import { prepare } from '../../kernel/enqueue/prepare.ts';
import type { Plan } from './plan.ts';

export type CallingClient = Pick<Client, 'app' | 'backend' | 'stores'>;

/** Enqueues the callbacks. Throws if one of them cannot be enqueued. */
export async function enqueueCalls(
  client: CallingClient,
  ends: readonly EndName[],
  plan: Plan,
  id: string,
  round: number,
  payload: unknown,
): Promise<void> {
  const results = await enqueueEach(
    client,
    { job: null, queue: null, count: ends.length },
    plan.context ?? {},
    (i, uploads) => {
      const end = ends[i]!;
      const name = plan.calls[end]!;
      const job = client.app.jobs.get(name);
      if (!job) throw new LongshoreError('UNKNOWN_JOB', `No job "${name}" is defined here, which is ${end}.`);
      const jobId = endId(id, end, round);
      // The key is for queues that would run two copies of an id, and for a callback that had ended before it was sent again.
      return prepare(client, { job, payload, options: { idempotencyKey: jobId }, uploads, id: jobId });
    },
  );
  for (const result of results) if (!result.ok) throw result.error;
}
