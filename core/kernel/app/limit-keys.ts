/** The keys of limits, from the payload of a job. */

import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { faultOf } from '../../base/text.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { Limit } from './flow-control.ts';
import type { Job } from './job.ts';

export const breakerPrefix = 'breaker:';

/** `null` = this job is not limited. Throws `PAYLOAD` where the limit's own function makes no key. */
export function limitKey({ of, kind, keyOf }: Limit, payload: unknown, context: JobContext): string | null {
  const all = `${of}:${kind}`;
  if (!keyOf) return all;
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
  return `${all}:${key}`;
}

/** Rates first: a slot of theirs that was taken for nothing is given back, one of concurrency would wake a job for nothing. */
export function limitsFor(queue: readonly Limit[] | null | undefined, job: Job): readonly Limit[] {
  const all = [...(queue ?? []), ...(job.limits ?? [])];
  return all.sort((a, b) => Number(a.kind === 'concurrency') - Number(b.kind === 'concurrency'));
}

/** Throws `PAYLOAD` at enqueue for what every worker would refuse. */
export function checkKeys(
  queue: readonly Limit[] | null | undefined,
  job: Job,
  payload: unknown,
  context: JobContext,
): void {
  for (const limit of limitsFor(queue, job)) limitKey(limit, payload, context);
}
