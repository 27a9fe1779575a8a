/** A list that is loaded page by page, with its notices. */

import { count } from '../data/format.ts';
import type { LoadedPages } from '../data/load.ts';
import { Empty, Missing, Trouble } from './frame.tsx';
import { Rows, type RowsProps } from './rows.tsx';

interface PagedRowsProps<T> extends Pick<RowsProps<T>, 'columns' | 'keyOf'> {
  readonly loaded: LoadedPages<T>;
  /** The name of the rows: `jobs`. */
  readonly what: string;
  /** The text of an empty list. */
  readonly empty: string;
}

export function PagedRows<T>({ loaded, what, empty, columns, keyOf }: PagedRowsProps<T>) {
  const { items, missed, more, unavailable, problem, loading, loadMore } = loaded;
  const listed = `${count(items.length)} ${what} are listed`;
  if (unavailable !== null) return <Empty>{unavailable}</Empty>;
  return (
    <>
      {problem !== null && <Trouble>{problem}</Trouble>}
      <Missing missed={missed} />
      <p class="hidden" aria-live="polite">
        {loading ? '' : `${listed}${more ? ', and there are more' : ''}.`}
      </p>
      <Rows
        caption={`${what}, newest first`}
        columns={columns}
        rows={items}
        keyOf={keyOf}
        more={more && problem === null}
        loading={loading}
        onNearEnd={loadMore}
        end={
          loading ? (
            'Loading…'
          ) : more ? (
            <>
              {listed}.{' '}
              <button type="button" class="quiet" onClick={loadMore}>
                Look further back
              </button>
            </>
          ) : items.length > 0 ? (
            `${listed}${missed === undefined ? ': that is all there is' : ''}.`
          ) : (
            problem === null && empty // what could not be loaded may be there all the same
          )
        }
      />
    </>
  );
}
