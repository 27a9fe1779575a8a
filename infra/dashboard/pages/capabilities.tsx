import type { Capability } from '../../../core/surfaces/dashboard/api.ts';
import type { CrossedFeature } from '../../docs/crossings.ts';
import { session } from '../data/client.ts';
import { Panel } from '../parts/frame.tsx';
import { Table } from '../parts/table.tsx';
import { TablePage } from '../parts/table-page.tsx';
import { Text, Wrapped } from '../parts/text.tsx';

/** Inserted by build.ts. */
declare const crossedFeatures: readonly CrossedFeature[];

export const Capabilities = () => (
  <>
    <TablePage<Capability>
      title="Capabilities"
      note={<Text value={`What ${session.get()!.backend} can do.`} />}
      path="capabilities"
      keyOf={({ name }) => name}
      empty="This backend tells nothing of itself."
      columns={[
        { name: 'What', of: ({ name }) => <Text value={name} /> },
        { name: 'Here', of: ({ value }) => <Wrapped value={value} /> },
      ]}
    />
    <Panel title="What happens to a feature when …">
      {crossedFeatures.map(({ title, on }) => (
        <details key={title}>
          <summary>{title}</summary>
          <Table
            caption={title}
            rows={on}
            keyOf={({ event }) => event}
            empty="Nothing of its own."
            columns={[
              { name: 'Event', of: ({ event }) => <Text value={event} /> },
              { name: 'What happens', of: ({ means }) => <Wrapped value={means.replaceAll('`', '')} /> },
            ]}
          />
        </details>
      ))}
    </Panel>
  </>
);
