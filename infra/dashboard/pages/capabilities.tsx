import type { Capability } from '../../../core/dashboard/api.ts';
import { session } from '../data/client.ts';
import { useLoad } from '../data/load.ts';
import type { Unavailable } from '../data/shapes.ts';
import { Head, Shown } from '../parts/frame.tsx';
import { Table } from '../parts/table.tsx';
import { Text } from '../parts/text.tsx';

export function Capabilities() {
  const loaded = useLoad<readonly Capability[] | Unavailable>('capabilities');
  return (
    <>
      <Head title="Capabilities" note={<Text value={`What ${session.get()!.backend} can do.`} />} />
      <Shown loaded={loaded}>
        {(capabilities) => (
          <Table
            caption="Capabilities of this backend"
            rows={capabilities}
            keyOf={({ name }) => name}
            empty="This backend tells nothing of itself."
            columns={[
              { name: 'What', of: ({ name }) => <Text value={name} /> },
              {
                name: 'Here',
                of: ({ value }) => (
                  <span class="wrapped">
                    <Text value={value} />
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
