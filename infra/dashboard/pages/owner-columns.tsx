import type { RowColumn } from '../parts/rows.tsx';
import { Text } from '../parts/text.tsx';

/** Where a job belongs, in lists of jobs and of dead letters. */
export const ownerColumns: readonly RowColumn<{
  readonly queue: string;
  readonly tenantId: string | null;
}>[] = [
  { name: 'Queue', width: 'minmax(4rem, .6fr)', of: ({ queue }) => <Text value={queue} /> },
  {
    name: 'Tenant',
    width: 'minmax(4rem, .6fr)',
    of: ({ tenantId }) => tenantId !== null && <Text value={tenantId} />,
  },
];
