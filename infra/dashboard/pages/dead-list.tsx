import { useEffect, useState } from 'preact/hooks';
import type { DeadLetterItem, DeadLetterItems } from '../../../core/operations/types.ts';
import { useMayAct } from '../data/act.ts';
import { bytes, count, moment, plural } from '../data/format.ts';
import { usePages } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { type Bulk, BulkButtons, BulkDialog } from '../parts/bulk-dialog.tsx';
import { Head } from '../parts/frame.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import type { RowColumn } from '../parts/rows.tsx';
import { Badge } from '../parts/status.tsx';
import { Text, TextLink } from '../parts/text.tsx';
import { DeadSearchBox, readDeadSearch } from './dead-search.tsx';
import { ownerColumns } from './owner-columns.tsx';
import type { ViewProps } from './page.ts';

export function DeadLetterList({ query }: ViewProps) {
  const search = readDeadSearch(query);
  const { filter, typed, words, backend } = search;
  const loaded = usePages('dead', filter, ({ letters }: DeadLetterItems) => letters);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const mayAct = useMayAct();
  const unchoose = (): void => setChosen(new Set());
  useEffect(unchoose, [words]);

  function choose(id: string, isChosen: boolean): void {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  }
  const choice: RowColumn<DeadLetterItem> = {
    name: 'Choose',
    width: '4.2rem',
    of: ({ id }) => (
      <input
        type="checkbox"
        aria-label={`Choose ${id}`}
        checked={chosen.has(id)}
        onChange={({ currentTarget }) => choose(id, currentTarget.checked)}
      />
    ),
  };
  const some = plural(chosen.size, 'chosen one');
  const asked =
    chosen.size > 0
      ? { what: ` ${some}`, selection: { ids: [...chosen] }, words: some }
      : { what: ' all', selection: { filter: typed }, words };
  return (
    <div class="fills">
      <Head title="Dead letters" note="One by one, newest first.">
        <a class="button" href={linkTo(['dead'], filter)}>
          In groups
        </a>
        <BulkButtons {...asked} backend={backend} onAsk={setBulk} />
      </Head>
      <DeadSearchBox search={search} path="letters" />
      <PagedRows
        loaded={loaded}
        what="dead letters"
        columns={mayAct ? [choice, ...columns] : columns}
        keyOf={({ id }) => id}
        empty="No dead letter is like this."
      />
      {bulk !== null && (
        <BulkDialog
          {...bulk}
          onClose={() => setBulk(null)}
          onDone={() => {
            unchoose();
            loaded.reload();
          }}
        />
      )}
    </div>
  );
}

const columns: readonly RowColumn<DeadLetterItem>[] = [
  { name: 'Reason', width: '6.5rem', of: ({ reason }) => <Badge word={reason} tone="bad" /> },
  {
    name: 'Job',
    width: 'minmax(7rem, 1fr)',
    main: true,
    of: ({ id, job }) => <TextLink href={linkTo(['letter', id])} value={job || 'no known job'} />,
  },
  { name: 'Id', width: 'minmax(6rem, 1fr)', of: ({ id }) => <Text value={id} mono /> },
  ...ownerColumns,
  { name: 'Runs', width: '3.5rem', of: ({ attempt }) => count(attempt) },
  { name: 'Died', width: '11.5rem', of: ({ diedAt }) => moment(diedAt) },
  { name: 'Size', width: '4.8rem', of: ({ bytes: size }) => bytes(size) },
  { name: 'Error', width: 'minmax(8rem, 2fr)', of: ({ error }) => <Text value={error} /> },
];
