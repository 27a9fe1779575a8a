import type { Capability } from '../../../core/surfaces/dashboard/api.ts';
import { session } from '../data/client.ts';
import { TablePage } from '../parts/table-page.tsx';
import { Text, Wrapped } from '../parts/text.tsx';

export const Capabilities = () => (
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
);
