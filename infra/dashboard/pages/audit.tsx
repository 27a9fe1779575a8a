import type { AuditEntry, AuditPage } from '../../../core/contract/derived/audit.ts';
import { count, moment } from '../data/format.ts';
import { usePages } from '../data/load.ts';
import { Head } from '../parts/frame.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import type { RowColumn } from '../parts/rows.tsx';
import { Badge } from '../parts/status.tsx';
import { Text } from '../parts/text.tsx';

export function Audit() {
  const loaded = usePages('audit', {}, ({ entries }: AuditPage) => entries);
  return (
    <div class="fills">
      <Head title="Audit log" note="What people did here, newest first. Nothing in it can be changed.">
        <button type="button" disabled={loaded.loading} onClick={loaded.reload}>
          Load again
        </button>
      </Head>
      <PagedRows
        loaded={loaded}
        what="entries"
        columns={columns}
        keyOf={({ id }) => id}
        empty="The audit log is empty."
      />
    </div>
  );
}

const columns: readonly RowColumn<AuditEntry>[] = [
  { name: 'When', width: '11.5rem', of: ({ at }) => moment(at) },
  { name: 'Phase', width: '5rem', of: ({ phase }) => <Badge word={phase} /> },
  { name: 'What', width: '8.5rem', main: true, of: ({ action }) => <Text value={action} /> },
  { name: 'To what', width: 'minmax(7rem, 1.5fr)', of: ({ target }) => <Text value={target} /> },
  { name: 'How many', width: '5.5rem', of: ({ count: many }) => many !== null && count(many) },
  { name: 'Who', width: 'minmax(5rem, .8fr)', of: ({ actor }) => <Text value={actor} /> },
  { name: 'From', width: 'minmax(5rem, .8fr)', of: ({ from }) => <Text value={from} /> },
  {
    name: 'Note',
    width: 'minmax(6rem, 1.5fr)',
    of: ({ note }) => note !== null && <Text value={note} />,
  },
];
