/** By what dead letters are searched, on both of their lists. */

import type { Session } from '../../../core/dashboard/api.ts';
import type { DeadLetterFilter } from '../../../core/operator/types.ts';
import type { SearchField } from '../data/search.ts';

export const deadFields = ({ app }: Session): readonly SearchField[] => [
  { word: 'job', member: 'job', label: 'Job', choices: app.jobs },
  { word: 'queue', member: 'queue', label: 'Queue', choices: app.queues },
  {
    word: 'reason',
    member: 'reason',
    label: 'Reason',
    choices: ['permanent', 'exhausted', 'crash-loop', 'rejected', 'expired'],
  },
  { word: 'tenant', member: 'tenantId', label: 'Tenant' },
  { word: 'error', member: 'error', label: 'Piece of the error' },
  { word: 'group', member: 'fingerprint', label: 'Group' },
  { word: 'from', member: 'diedFrom', label: 'Died from', isMoment: true },
  { word: 'to', member: 'diedBefore', label: 'Died before', isMoment: true },
];

export function deadFilterOf(
  query: URLSearchParams,
  fields: readonly SearchField[],
): Readonly<Record<string, string>> {
  const members = new Set(fields.map(({ member }) => member));
  return Object.fromEntries([...query].filter(([name]) => members.has(name)));
}

/** As the server wants it in a body. */
export function typedFilter(filter: Readonly<Record<string, string>>): DeadLetterFilter {
  const { diedFrom, diedBefore, ...texts } = filter;
  return {
    ...texts,
    ...(diedFrom !== undefined && { diedFrom: Number(diedFrom) }),
    ...(diedBefore !== undefined && { diedBefore: Number(diedBefore) }),
  };
}
