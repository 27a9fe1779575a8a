/** What the queues of clouds have in common. */

import { LongshoreError } from '../../base/errors.ts';
import type { DeadLetter } from '../../contract/admin.ts';
import type { Foreign, ForeignJob, ForeignMessage } from '../../contract/foreign.ts';
import type { JobLease } from '../../contract/queue.ts';

/** What a settle verb needs beside the lease, from its token. @param caller that has made it, like `sqs()` */
export function receiptIn<Receipt>({ token }: JobLease, caller: string): Receipt {
  try {
    return JSON.parse(token) as Receipt;
  } catch (cause) {
    const message = `Expected a lease that ${caller} has made, got another token.`;
    throw new LongshoreError('BACKEND', message, { cause });
  }
}

/**
 * A message of another program that the queue's rule takes, as the job it stands for.
 * @param partsOf what the job changes beside the body
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

/** The newest ones. */
export const newestOf = (letters: readonly DeadLetter[], max: number): DeadLetter[] =>
  letters.toSorted((a, b) => b.diedAt - a.diedAt).slice(0, max);
