import type { Batch } from '../../../core/kernel/app/batch.ts';
import type { BatchList } from '../../../core/surfaces/dashboard/api.ts';
import { count, duration, rate } from '../data/format.ts';
import { usePages, useRefreshAtTop } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { BatchState, Share } from '../parts/batch.tsx';
import { Head } from '../parts/frame.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import type { RowColumn } from '../parts/rows.tsx';
import { Text, TextLink } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { OneBatch } from './batch.tsx';
import type { ViewProps } from './page.ts';

export function Batches({ path, query }: ViewProps) {
  return path[0] === undefined ? <BatchTable /> : <OneBatch key={path[0]} id={path[0]} query={query} />;
}

function BatchTable() {
  const loaded = usePages('batches', {}, ({ batches }: BatchList) => batches);
  useRefreshAtTop(loaded);
  return (
    <div class="fills">
      <Head title="Batches" note="Jobs that belong together, and what they call when all have ended." />
      <PagedRows
        loaded={loaded}
        what="batches"
        columns={columns}
        keyOf={({ id }) => id}
        empty="There is no batch. client.batch() makes one, and it is listed here."
      />
    </div>
  );
}

const columns: readonly RowColumn<Batch>[] = [
  { name: 'State', width: '6rem', of: (batch) => <BatchState batch={batch} /> },
  {
    name: 'Batch',
    width: 'minmax(7rem, 1.2fr)',
    main: true,
    of: ({ id, name }) => <TextLink href={linkTo(['batches', id])} value={name} />,
  },
  { name: 'Id', width: 'minmax(6rem, 1fr)', of: ({ id }) => <Text value={id} mono /> },
  { name: 'Done', width: 'minmax(9rem, .8fr)', of: (batch) => <Share batch={batch} /> },
  { name: 'Children', width: '5.5rem', of: ({ sent }) => <Labelled name="children" value={count(sent)} /> },
  {
    name: 'Succeeded',
    width: '5.5rem',
    of: ({ succeeded }) => <Labelled name="succeeded" value={count(succeeded)} />,
  },
  {
    name: 'Failed',
    width: '4.5rem',
    of: ({ failed }) => (
      <span class={failed > 0 ? 'bad' : undefined}>
        <Labelled name="failed" value={count(failed)} />
      </span>
    ),
  },
  {
    name: 'Per second',
    width: '5.5rem',
    of: ({ perSecond }) => perSecond !== null && <Labelled name="per second" value={rate(perSecond)} />,
  },
  {
    name: 'Left',
    width: '5rem',
    of: ({ state, etaMs }) =>
      state === 'running' && etaMs !== null && <Labelled name="left" value={duration(etaMs)} />,
  },
  { name: 'Made', width: '6.5rem', of: ({ createdAt }) => <Ago at={createdAt} /> },
];

/** A narrow screen has no column header above the number. */
const Labelled = ({ name, value }: { name: string; value: string }) => (
  <>
    {value}
    <span class="narrow-only"> {name}</span>
  </>
);
