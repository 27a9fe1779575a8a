/** The search for dead letters, on both of their lists. */

import type { DeadLetterFilter } from '../../../core/operations/types.ts';
import type { Session } from '../../../core/surfaces/dashboard/api.ts';
import { session } from '../data/client.ts';
import { backendField, type Filter, filterIn, type SearchField, writeSearch } from '../data/search.ts';
import { SearchBox } from '../parts/search.tsx';

const alone = 'error';

const deadFields = ({ app, backends }: Session): readonly SearchField[] => [
  { word: 'job', member: 'job', label: 'Job', choices: app.jobs },
  { word: 'queue', member: 'queue', label: 'Queue', choices: app.queues },
  ...backendField(backends),
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

export interface DeadSearch {
  readonly fields: readonly SearchField[];
  readonly filter: Filter;
  /** The only backend that is searched, if one is chosen. */
  readonly backend: string | undefined;
  /** The filter as the server expects it in a body. */
  readonly typed: DeadLetterFilter;
  /** The search terms as text. */
  readonly words: string;
}

export function readDeadSearch(query: URLSearchParams): DeadSearch {
  const fields = deadFields(session.get()!);
  const filter = filterIn(query, fields, alone);
  const { backend, diedFrom, diedBefore, ...texts } = filter;
  const typed = {
    ...texts,
    ...(diedFrom !== undefined && { diedFrom: Number(diedFrom) }),
    ...(diedBefore !== undefined && { diedBefore: Number(diedBefore) }),
  };
  const written = writeSearch(filter, fields, alone);
  return { fields, filter, backend, typed, words: written === '' ? 'all there are' : `all with ${written}` };
}

/** @param path of the page */
export function DeadSearchBox({ search: { fields, filter }, path }: { search: DeadSearch; path: string }) {
  return (
    <SearchBox
      label="Search dead letters with filters like job:, reason:, error:"
      hint="job:…, reason:exhausted, tenant:…, error:&quot;…&quot;, from:2h"
      fields={fields}
      alone={alone}
      filter={filter}
      path={path}
    />
  );
}
