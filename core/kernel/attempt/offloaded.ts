/** A payload that was too large for the queue: loaded before its check, and deleted when the job is done. */

import { alreadyDone } from '../../envelope/envelope.ts';
import { answered } from './answered.ts';
import type { Admitted, Step, Verdict } from './attempt.ts';
import { unfit } from './verdict.ts';

/** With the first payload that was too large. */
const load = () => import('../enqueue/offload.ts');

export const offloaded = {
  for: ({ envelope }) => envelope?.claim != null,

  async run(it, next) {
    const { loadPayload } = await load();
    try {
      const loading = loadPayload(it.ports.client.stores, it.envelope);
      const payload = await answered(it, 'The payload store', loading, it.job.timeoutMs);
      if (payload === alreadyDone) return { verb: 'ack', outcome: 'skipped-idempotent', output: null };
    } catch (error) {
      return unfit(it, error);
    }
    return next();
  },

  async settle(it, end, next) {
    const settled = await next(end);
    // Not before the record, which shows a late copy of the message that the job is done.
    if (settled && isOver(end.verdict) && !it.job?.keepPayload) {
      const { dropPayload } = await load();
      const dropped = dropPayload(it.app, it.ports.client.stores, (it as Admitted).envelope);
      await answered(it, 'The payload store', dropped).catch(() => {}); // as one that fails: its own rules remove it
    }
    return settled;
  },
} satisfies Step;

/** A dead letter keeps its payload, because somebody may retry it. */
const isOver = (verdict: Verdict): boolean =>
  verdict.verb === 'ack' || (verdict.verb === 'abandon' && verdict.reason === 'cancelled');
