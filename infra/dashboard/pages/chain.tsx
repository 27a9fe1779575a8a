import type { ChainView } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { AskedAction } from '../parts/action.tsx';
import { Head, Panel, Shown } from '../parts/frame.tsx';
import { Badge } from '../parts/status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Text, TextLink, Wrapped } from '../parts/text.tsx';
import { MomentAgo } from '../parts/time.tsx';
import type { ViewProps } from './page.ts';

export const ChainPage = ({ path: [id = ''] }: ViewProps) => <OneChain key={id} id={id} />;

function OneChain({ id }: { id: string }) {
  const path = `chains/${encodeURIComponent(id)}`;
  const loaded = useLoad<ChainView>(path, 3_000);
  const mayAct = useMayAct();
  return (
    <Shown loaded={loaded} title="Chain">
      {(chain) => (
        <>
          <Head title={<Text value={`Chain ${id}`} />} note={<Badge word={chain.state} />}>
            {mayAct && chain.state === 'running' && (
              <AskedAction
                label="Cancel"
                path={`${path}/cancel`}
                question="Cancel this chain?"
                answer="Cancel the chain"
                dangerous
                onDone={loaded.reload}
              >
                <p>A waiting link never runs, a running one is asked to abort, and no further link begins.</p>
              </AskedAction>
            )}
          </Head>
          <Panel title="Links">
            <Table
              caption="Links, in their order"
              rows={chain.links.flatMap(rowsOf)}
              keyOf={({ job }) => job.id}
              empty="It has none."
              columns={columns}
            />
          </Panel>
        </>
      )}
    </Shown>
  );
}

type Link = ChainView['links'][number];

interface Row {
  readonly link: number;
  /** How many run at the same time. */
  readonly beside: number;
  readonly job: Link['jobs'][number];
}

const rowsOf = ({ link, jobs }: Link): Row[] => jobs.map((job) => ({ link, beside: jobs.length, job }));

const columns: readonly Column<Row>[] = [
  { name: 'Link', of: ({ link, beside }) => (beside > 1 ? `${link}, one of ${beside}` : String(link)) },
  {
    name: 'State',
    of: ({ job: { record } }) =>
      record === null ? <Badge word="not enqueued, or no longer kept" /> : <Badge word={record.status} />,
  },
  {
    name: 'Job',
    of: ({ job: { id, job, record } }) =>
      record === null ? <Text value={job} /> : <TextLink href={linkTo(['jobs', id])} value={job} />,
  },
  {
    name: 'Enqueued',
    of: ({ job: { record } }) => (record === null ? '–' : <MomentAgo at={record.createdAt} />),
  },
  {
    name: 'Ended',
    of: ({ job: { record } }) =>
      record === null || record.finishedAt === null ? '–' : <MomentAgo at={record.finishedAt} />,
  },
  {
    name: 'Error',
    of: ({ job: { record } }) => (record?.error == null ? '–' : <Wrapped value={record.error} />),
  },
];
