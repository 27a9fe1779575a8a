import type { AlertRow } from '../../../core/surfaces/dashboard/api.ts';
import { duration } from '../data/format.ts';
import { serverNow } from '../data/live.ts';
import { Badge } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { TablePage } from '../parts/table-page.tsx';
import { Text, Wrapped } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';

export const Alerts = () => (
  <TablePage<AlertRow>
    title="Alerts"
    path="alerts"
    everyMs={10_000}
    rowsOf={(alerts) => alerts.toSorted((a, b) => rankOf(a) - rankOf(b) || (b.since ?? 0) - (a.since ?? 0))}
    keyOf={({ alert, subject }) => `${alert} ${subject}`}
    empty="The alerts look at nothing here."
    columns={columns}
  />
);

const states = ['firing', 'unknown', 'pending', 'ok'] as const;
const severities = ['critical', 'warning'];

/** Firing alerts come first, the worst of them at the top. */
const rankOf = ({ state, severity }: AlertRow): number =>
  states.indexOf(state) * severities.length + severities.indexOf(severity);

const columns: readonly Column<AlertRow>[] = [
  { name: 'State', of: (alert) => <State alert={alert} /> },
  { name: 'Alert', of: ({ alert }) => <Text value={alert} /> },
  { name: 'About', of: ({ subject }) => <Text value={subject} /> },
  { name: 'Since', of: ({ since }) => (since === null ? '–' : <Ago at={since} />) },
  { name: 'Message', of: ({ text }) => <Wrapped value={text} /> },
];

function State({ alert: { state, severity, since, forMs } }: { alert: AlertRow }) {
  switch (state) {
    case 'firing':
      return <Badge word={`firing · ${severity}`} tone="bad" />;
    case 'unknown':
      return <Badge word="unknown" tone="warn" />;
    case 'pending':
      return <Badge word={`pending, fires in ${leftOf(forMs, since)}`} tone="warn" />;
    default:
      return <Badge word="OK" tone="good" />;
  }
}

/** `forMs` counts from the first evaluation; without `since` there was none yet. */
const leftOf = (forMs: number, since: number | null): string =>
  duration(Math.max(0, (since ?? serverNow()) + forMs - serverNow()));
