/** A payload that was too large for the queue: loaded before its check, and deleted when the job is done. */

import { alreadyDone } from '../../envelope/envelope.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted, Attempt, End, Maybe, Verdict } from '../../kernel/attempt/attempt.ts';
import { endsForGood, unfit } from '../../kernel/attempt/verdict.ts';
import { dropPayload, loadPayload } from '../../kernel/enqueue/offload.ts';

export async function load(it: Admitted, next: () => Maybe<Verdict>): Promise<Verdict> {
  try {
    const loading = loadPayload(it.ports.client.stores, it.envelope);
    const payload = await answered(it, 'The payload store', loading, it.job.timeoutMs);
    if (payload === alreadyDone) return { verb: 'ack', outcome: 'skipped-idempotent', output: null };
  } catch (error) {
    return unfit(it, error);
  }
  return next();
}

export async function drop(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Promise<boolean> {
  const settled = await next(end);
  // A dead letter keeps its payload for a retry. Delete it only after the record, which tells a late copy of the message that the job is done.
  if (settled && endsForGood(it, end.verdict) && !it.job?.keepPayload) {
    const dropped = dropPayload(it.app, it.ports.client.stores, (it as Admitted).envelope);
    await answered(it, 'The payload store', dropped).catch(() => {}); // after a failure the store's own rules remove it
  }
  return settled;
}
