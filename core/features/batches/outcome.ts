import type { BatchState } from '../../contract/derived/batches.ts';
import type { Batch } from '../../kernel/app/batch.ts';
import { mostFailures, type Plan } from './plan.ts';

/** The outcome of a batch whose children have all ended. */
export function outcomeOf(
  allowFailures: Plan['allowFailures'],
  { failed, sent, cancelledAt }: Pick<BatchState, 'failed' | 'sent' | 'cancelledAt'>,
): NonNullable<Batch['outcome']> {
  if (cancelledAt !== null) return 'cancelled';
  return failed <= mostFailures(allowFailures, sent) ? 'succeeded' : 'failed';
}
