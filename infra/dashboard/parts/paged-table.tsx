/** A short list that is loaded page by page. */

import type { LoadedPages } from '../data/load.ts';
import { Empty, Missing, Trouble } from './frame.tsx';
import { Table, type TableProps } from './table.tsx';

interface PagedTableProps<T> extends Omit<TableProps<T>, 'rows'> {
  readonly loaded: LoadedPages<T>;
}

export function PagedTable<T>({ loaded, ...table }: PagedTableProps<T>) {
  const { items, missed, more, loading, problem, loadMore } = loaded;
  return (
    <>
      {problem !== null && <Trouble>{problem}</Trouble>}
      <Missing missed={missed} />
      {items.length === 0 && loading ? <p class="waiting">Loading…</p> : <Table {...table} rows={items} />}
      {more && (
        <Empty>
          <button type="button" disabled={loading} onClick={loadMore}>
            Show more
          </button>
        </Empty>
      )}
    </>
  );
}
