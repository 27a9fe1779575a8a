/** The stored steps of a job. */

import type { StepView } from '../../../core/features/steps/show.ts';
import { Badge } from './status.tsx';
import { type Column, Table } from './table.tsx';
import { Wrapped } from './text.tsx';
import { Moment } from './time.tsx';

export const Steps = ({ steps }: { steps: readonly StepView[] }) => (
  <Table
    caption="Steps, in the order in which they began"
    rows={steps}
    keyOf={({ name }) => name}
    empty="It has none."
    columns={columns}
  />
);

const columns: readonly Column<StepView>[] = [
  { name: 'Step', of: ({ name }) => <Wrapped value={name} /> },
  { name: 'State', of: ({ state }) => <Badge word={state} /> },
  { name: 'At', of: ({ at }) => <Moment at={at} /> },
  { name: 'Until', of: ({ until }) => (until === null ? '–' : <Moment at={until} />) },
  { name: 'Value', of: ({ value }) => (value === null ? '–' : <Wrapped value={JSON.stringify(value)} />) },
];
