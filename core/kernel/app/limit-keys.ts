/** The keys of limits, from the payload of a job. */

import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { faultOf } from '../../base/text.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { type Limit, sharedKey } from './flow-control.ts';
import type { Job } from './job.ts';

export const breakerPrefix = 'breaker:';

/** `null` = this job is not limited. Throws `PAYLOAD` if the limit's `key` function throws or returns an invalid key. */
export function limitKey(limit: Limit, payload: unknown, context: JobContext): string | null {
  const { of, kind, keyOf } = limit;
  if (!keyOf) return sharedKey(limit);
  let key: unknown;
  try {
    key = keyOf(payload as never, context);
  } catch (cause) {
    throw new LongshoreError('PAYLOAD', `The key of ${kind} of ${of} threw: ${toError(cause).message}`, {
      cause,
    });
  }
  if (key === null || key === undefined) return null;
  const fault = faultOf(key);
  if (fault !== null)
    throw new LongshoreError(
      'PAYLOAD',
      `Expected the key of ${kind} of ${of} to be null or a text ${fault}.`,
    );
  return `${sharedKey(limit)}:${key}`;
}

/** Rates come first: giving back an unused slot of a rate is free, but giving back one of concurrency wakes a job for nothing. */
export function limitsFor(queue: readonly Limit[] | null | undefined, job: Job): readonly Limit[] {
  const all = [...(queue ?? []), ...(job.limits ?? [])];
  return all.sort((a, b) => Number(a.kind === 'concurrency') - Number(b.kind === 'concurrency'));
}

/** Throws `PAYLOAD` on enqueue, because every worker would refuse the job. */
export function checkKeys(
  queue: readonly Limit[] | null | undefined,
  job: Job,
  payload: unknown,
  context: JobContext,
): void {
  for (const limit of limitsFor(queue, job)) limitKey(limit, payload, context);
}
