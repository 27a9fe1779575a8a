/** Which dead letters are meant, in a query and in a body. */

import { latestMs } from '../../../base/clock.ts';
import { shown } from '../../../base/errors.ts';
import { reasons } from '../../../kit/records/partitions.ts';
import type { DeadLetterFilter } from '../../../operations/types.ts';
import { integerMember, membersOf, textMember } from './body.ts';
import { moment, oneOf, text, wrong } from './query.ts';

const reason = oneOf(reasons);

const members = <Text, Reason, Moment>(asText: Text, asReason: Reason, asMoment: Moment) => ({
  queue: asText,
  job: asText,
  reason: asReason,
  tenantId: asText,
  error: asText,
  fingerprint: asText,
  diedFrom: asMoment,
  diedBefore: asMoment,
});

export const filterQuery = members(text, reason, moment);

const filterMembers = members(
  textMember,
  (given: unknown, name: string) => reason(textMember(given, name), name),
  integerMember(0, latestMs),
);

export const filterIn = (value: unknown): DeadLetterFilter => membersOf(value, 'filter', filterMembers);

const mostIds = 10_000;

export function idsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > mostIds)
    throw wrong(
      `ids to be a list of 1 to ${mostIds} ids, got ${Array.isArray(value) ? `${value.length} of them` : shown(value)}. Use a filter for more.`,
    );
  return value.map((id) => textMember(id, 'each of ids'));
}
