/** A page with one table: its head, its data, and the actions of each row. */

import type { ComponentChildren } from 'preact';
import type { OfOne, Rows } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { useLoad } from '../data/load.ts';
import { Head, Shown } from './frame.tsx';
import { type Column, Table, type TableProps } from './table.tsx';

interface TablePageProps<T> extends Pick<TableProps<T>, 'columns' | 'keyOf' | 'empty'> {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly path: string;
  readonly everyMs?: number;
  /** Converts the loaded rows to the shown ones. */
  readonly rowsOf?: (loaded: readonly OfOne<T>[]) => readonly OfOne<T>[];
  /** Only for users who may change something. */
  readonly actions?: (row: OfOne<T>, reload: () => void) => ComponentChildren;
}

export function TablePage<T>(props: TablePageProps<T>) {
  const { title, note, path, everyMs, rowsOf, actions, columns, keyOf, empty } = props;
  const loaded = useLoad<Rows<T>>(path, everyMs);
  const withActions = useMayAct() && actions !== undefined;
  const last: Column<OfOne<T>> = {
    name: 'Actions',
    of: (row) => <div class="actions">{actions?.(row, loaded.reload)}</div>,
  };
  return (
    <>
      <Head title={title} note={note} />
      <Shown loaded={loaded}>
        {({ rows }) => (
          <Table
            caption={title}
            rows={rowsOf?.(rows) ?? rows}
            keyOf={keyOf}
            empty={empty}
            columns={withActions ? [...columns, last] : columns}
          />
        )}
      </Shown>
    </>
  );
}
