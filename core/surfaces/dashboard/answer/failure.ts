/** What an operator is shown of a failure: more than a stranger at an API, because mending it is their work. */

import { type ErrorCode, LongshoreError } from '../../../base/errors.ts';
import { Refusal, refusalOf } from '../../http/problem.ts';

/** Those whose message says what keeps this job from being changed as it is, and what to mend. */
const statuses: Partial<Readonly<Record<ErrorCode, number>>> = {
  ENVELOPE: 409,
  PAYLOAD_STORE: 409,
  SIGNATURE: 409,
  UNKNOWN_KEY: 409,
  WRONG_QUEUE: 409,
  EXPIRED: 409,
  CONFLICT: 409,
  NOT_FOUND: 404,
  CONFIG: 500,
};

export function refusalFor(error: unknown): Refusal {
  const refusal = refusalOf(error);
  if (error instanceof Refusal || !(error instanceof LongshoreError)) return refusal;
  const { code, message, issues } = error;
  const status = statuses[code] ?? (refusal.code === code ? refusal.status : null);
  if (status === null) return refusal;
  return new Refusal(status, code, message, {
    headers: refusal.headers,
    cause: error,
    ...(issues && { issues }),
  });
}
