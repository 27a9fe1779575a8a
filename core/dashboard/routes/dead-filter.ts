/** Which dead letters are meant, in a query and in a body. */

import { latestMs } from '../../base/clock.ts';
import { shown } from '../../base/errors.ts';
import type { AbandonReason } from '../../contract/outcome.ts';
import type { DeadLetterFilter } from '../../operator/types.ts';
import { integerMember, membersOf, textMember } from './body.ts';
import { moment, oneOf, text, wrong } from './query.ts';

const reasons: readonly AbandonReason[] = [
  ...(['permanent', 'exhausted', 'crash-loop', 'rejected', 'expired', 'cancelled'] as const),
];
const reason = oneOf(reasons);

export const filterQuery = {
  queue: text,
  job: text,
  reason,
  tenantId: text,
  error: text,
  fingerprint: text,
  diedFrom: moment,
  diedBefore: moment,
};

const at = integerMember(0, latestMs);

export const filterIn = (value: unknown): DeadLetterFilter =>
  membersOf(value, 'filter', {
    queue: textMember,
    job: textMember,
    reason: (given: unknown, name: string) => reason(textMember(given, name), name),
    tenantId: textMember,
    error: textMember,
    fingerprint: textMember,
    diedFrom: at,
    diedBefore: at,
  });

const mostIds = 10_000;

export function idsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > mostIds)
    throw wrong(
      `ids to be a list of 1 to ${mostIds} ids, got ${Array.isArray(value) ? `${value.length} of them` : shown(value)}. Use a filter for more.`,
    );
  return value.map((id) => textMember(id, 'each of ids'));
}
