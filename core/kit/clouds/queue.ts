/** Code that the cloud queues share. */

import { LongshoreError } from '../../base/errors.ts';
import type { DeadLetter } from '../../contract/admin.ts';
import type { Foreign, ForeignJob, ForeignMessage } from '../../contract/foreign.ts';
import type { JobLease } from '../../contract/queue.ts';

/** Reads the receipt, which settling needs, from the token of a lease. @param caller the backend that made the lease, like `sqs()` */
export function receiptIn<Receipt>({ token }: JobLease, caller: string): Receipt {
  try {
    return JSON.parse(token) as Receipt;
  } catch (cause) {
    const message = `Expected a lease that ${caller} has made, got another token.`;
    throw new LongshoreError('BACKEND', message, { cause });
  }
}

/**
 * Turns a message of another program into a job by the queue's rule. A message that the rule does not take stays unchanged.
 * @param partsOf the parts of the delivery that the job changes, other than the body
 */
export async function asJob<Delivery extends { readonly body: string; readonly refusal?: string }>(
  rule: Foreign,
  delivery: Delivery,
  from: Omit<ForeignMessage, 'body'>,
  partsOf: (job: ForeignJob) => Partial<Delivery>,
): Promise<Delivery> {
  const made = await rule({ ...from, body: delivery.body });
  if (!made) return delivery;
  if (made instanceof LongshoreError) return { ...delivery, refusal: made.message };
  return { ...delivery, body: made.body, ...partsOf(made) };
}

/** The newest `max` letters, newest first. */
export const newestOf = (letters: readonly DeadLetter[], max: number): DeadLetter[] =>
  letters.toSorted((a, b) => b.diedAt - a.diedAt).slice(0, max);
