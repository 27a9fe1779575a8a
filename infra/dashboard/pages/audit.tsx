import { useEffect } from 'preact/hooks';
import type { AuditEntry, AuditPage } from '../../../core/contract/audit.ts';
import { ask, isUnavailable, Problem, queryOf } from '../data/client.ts';
import { count, moment } from '../data/format.ts';
import { onKeys } from '../data/keys.ts';
import { usePages } from '../data/load.ts';
import type { Unavailable } from '../data/shapes.ts';
import { Empty, Head } from '../parts/frame.tsx';
import { type RowColumn, Rows } from '../parts/rows.tsx';
import { Badge } from '../parts/status.tsx';
import { Text } from '../parts/text.tsx';

export function Audit() {
  const loaded = usePages<AuditEntry>('audit', async (after, signal) => {
    const page = await ask<AuditPage | Unavailable>(`audit${queryOf({ max: 100, after })}`, signal);
    if (isUnavailable(page)) throw new Problem(200, 'UNAVAILABLE', page.unavailable);
    return { items: page.entries, next: page.next };
  });
  const { items, more, problem, loading } = loaded;
  useEffect(() => onKeys({ r: loaded.reload }), []);
  return (
    <div class="fills">
      <Head title="Audit log" note="What people did here, newest first. Nothing in it can be changed.">
        <button type="button" disabled={loading} onClick={loaded.reload}>
          Load again
        </button>
      </Head>
      {problem !== null ? (
        <Empty>{problem}</Empty>
      ) : (
        <Rows
          caption="Audit log, newest first"
          columns={columns}
          rows={items}
          keyOf={({ id }) => id}
          more={more === true}
          loading={loading}
          onNearEnd={loaded.loadMore}
          end={
            loading
              ? 'Loading…'
              : more
                ? ''
                : items.length > 0
                  ? 'That is all there is.'
                  : 'Nobody has done anything yet.'
          }
        />
      )}
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
