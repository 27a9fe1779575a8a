import type { AlertView } from '../../../core/dashboard/api.ts';
import { useLoad } from '../data/load.ts';
import type { Unavailable } from '../data/shapes.ts';
import { Head, Shown } from '../parts/frame.tsx';
import { Badge } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Text } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';

export function Alerts() {
  const loaded = useLoad<readonly AlertView[] | Unavailable>('alerts', 10_000);
  return (
    <>
      <Head title="Alerts" />
      <Shown loaded={loaded}>
        {(alerts) => (
          <Table
            caption="Alerts"
            rows={[...alerts].sort((a, b) => Number(b.firing) - Number(a.firing) || b.since - a.since)}
            keyOf={({ alert, subject }) => `${alert} ${subject}`}
            empty="No alert is defined, or none has fired yet."
            columns={[
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
              {
                name: 'What it says',
                of: ({ text }) => (
                  <span class="wrapped">
                    <Text value={text} />
                  </span>
                ),
              },
            ]}
          />
        )}
      </Shown>
    </>
  );
}
