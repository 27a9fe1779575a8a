/** What an operator is shown of a failure: more than a stranger at an API, because mending it is their work. */

import { type ErrorCode, LongshoreError } from '../../base/errors.ts';
import { Refusal, refusalOf } from '../../http/problem.ts';

/** What cannot be done to this job as it is; the message says why. */
const conflicts: readonly ErrorCode[] = [
  ...([
    'ENVELOPE',
    'PAYLOAD_STORE',
    'SIGNATURE',
    'UNKNOWN_KEY',
    'WRONG_QUEUE',
    'EXPIRED',
    'CONFLICT',
  ] as const),
];

export function refusalFor(error: unknown): Refusal {
  const refusal = refusalOf(error);
  if (error instanceof Refusal || !(error instanceof LongshoreError)) return refusal;
  const { code, message, issues } = error;
  const details = { headers: refusal.headers, cause: error, ...(issues && { issues }) };
  if (conflicts.includes(code)) return new Refusal(409, code, message, details);
  if (code === 'NOT_FOUND') return new Refusal(404, code, message, details);
  if (code === 'CONFIG') return new Refusal(500, code, message, details);
  return refusal.code === code ? new Refusal(refusal.status, code, message, details) : refusal;
}
