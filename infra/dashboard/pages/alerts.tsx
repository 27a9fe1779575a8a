import type { AlertView } from '../../../core/dashboard/api.ts';
import { Badge } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { TablePage } from '../parts/table-page.tsx';
import { Text, Wrapped } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';

export const Alerts = () => (
  <TablePage<AlertView>
    title="Alerts"
    path="alerts"
    everyMs={10_000}
    rowsOf={(alerts) => alerts.toSorted((a, b) => Number(b.firing) - Number(a.firing) || b.since - a.since)}
    keyOf={({ alert, subject }) => `${alert} ${subject}`}
    empty="No alert is defined, or none has fired yet."
    columns={columns}
  />
);

const columns: readonly Column<AlertView>[] = [
  {
    name: 'State',
    of: ({ firing, severity }) =>
      firing ? (
        <Badge word={`fires: ${severity}`} tone={severity === 'info' ? 'plain' : 'bad'} />
      ) : (
        <Badge word="quiet" tone="good" />
      ),
  },
  { name: 'Alert', of: ({ alert }) => <Text value={alert} /> },
  { name: 'About', of: ({ subject }) => <Text value={subject} /> },
  { name: 'Since', of: ({ since }) => <Ago at={since} /> },
  { name: 'What it says', of: ({ text }) => <Wrapped value={text} /> },
];
