import type { BatchChild, BatchChildPage, BatchDetail } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { count, duration, plural, rate } from '../data/format.ts';
import { useLoad, usePages, useRefresh } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { AskedAction } from '../parts/action.tsx';
import { BatchState, failedWord, Share } from '../parts/batch.tsx';
import { type Fact, Facts, Head, Panel, Shown, Trouble } from '../parts/frame.tsx';
import { PagedTable } from '../parts/paged-table.tsx';
import { Badge } from '../parts/status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Id, Text, TextLink, Wrapped } from '../parts/text.tsx';
import { MomentAgo } from '../parts/time.tsx';

const states = { all: 'All', failed: 'Failed', open: 'Not ended' } as const;

export function OneBatch({ id, query }: { id: string; query: URLSearchParams }) {
  const path = `batches/${encodeURIComponent(id)}`;
  const loaded = useLoad<BatchDetail>(path, 3_000);
  const given = query.get('children');
  const state = given === 'failed' || given === 'open' ? given : 'all';
  return (
    <Shown loaded={loaded} title="Batch">
      {(batch) => (
        <>
          <Head title={<Text value={batch.name} />} note={<BatchState batch={batch} />}>
            <Actions batch={batch} path={path} onDone={loaded.reload} />
          </Head>
          <div class="progress">
            <Share batch={batch} />
            <span>
              {count(batch.succeeded)} succeeded, {count(batch.failed)} {failedWord(batch)}, of{' '}
              {count(batch.sent)}
              {batch.total === null && ' that were sent until now'}
            </span>
          </div>
          <Panel title="Facts">
            <Facts facts={factsOf(batch)} />
          </Panel>
          <Panel title="At its end">
            <Calls batch={batch} />
          </Panel>
          <Children key={state} id={id} path={path} state={state} goesOn={batch.completedAt === null} />
        </>
      )}
    </Shown>
  );
}

function Actions({ batch, path, onDone }: { batch: BatchDetail; path: string; onDone: () => void }) {
  if (!useMayAct()) return null;
  const { state, sent, succeeded, failed, completedAt } = batch;
  const open = sent - succeeded - failed;
  return (
    <>
      {completedAt === null && (
        <AskedAction
          label="Cancel"
          path={`${path}/cancel`}
          question="Cancel this batch?"
          answer={open === 0 ? 'Cancel the batch' : `Cancel ${plural(open, 'child', 'children')}`}
          concerns={open}
          dangerous
          onDone={onDone}
        >
          <p>
            {plural(open, 'child has', 'children have')} not ended: those that wait never run, those that run
            are told to abort. What its sender still wants to send is refused. Then onFailure and onComplete
            are called.
          </p>
        </AskedAction>
      )}
      {failed > 0 && state !== 'sending' && (
        <AskedAction
          label="Retry what failed"
          path={`${path}/retry`}
          question="Retry what failed?"
          answer={`Retry ${plural(failed, 'child', 'children')}`}
          concerns={failed}
          onDone={onDone}
        >
          <p>
            {plural(failed, 'child', 'children')} {failedWord(batch)}. The dead letters among them run again;
            those that were cancelled, expired or discarded stay as they are. When all have ended again, what
            the batch calls is called again.
          </p>
        </AskedAction>
      )}
    </>
  );
}

function factsOf(batch: BatchDetail): readonly Fact[] {
  const { id, tenantId, chain, perSecond, etaMs, state, round, allowFailures } = batch;
  return [
    ['Id', <Id value={id} />],
    ['Tenant', tenantId && <Text value={tenantId} />],
    [
      'Chain',
      chain && (
        <>
          link {chain.link} of <TextLink href={linkTo(['chains', chain.chain])} value={chain.chain} mono />
        </>
      ),
    ],
    ['Per second', perSecond !== null && rate(perSecond)],
    ['Left', state === 'running' && etaMs !== null && `about ${duration(etaMs)}`],
    ['Made', <MomentAgo at={batch.createdAt} />],
    ['Last change', <MomentAgo at={batch.changedAt} />],
    ['Complete', batch.completedAt !== null && <MomentAgo at={batch.completedAt} />],
    ['Round', round > 1 && `${round}: what failed was retried`],
    ['May fail', typeof allowFailures === 'number' ? count(allowFailures) : <Text value={allowFailures} />],
  ];
}

const callTones = { 'not yet': 'plain', due: 'warn', called: 'good', 'left out': 'plain' } as const;

type Call = BatchDetail['calls'][number];

const callColumns: readonly Column<Call>[] = [
  { name: 'When', of: ({ end }) => end },
  {
    name: 'Job',
    of: ({ job, id, state }) =>
      state === 'called' ? <TextLink href={linkTo(['jobs', id])} value={job} /> : <Text value={job} />,
  },
  { name: 'State', of: ({ state }) => <Badge word={state} tone={callTones[state]} /> },
];

function Calls({ batch: { calls, refused } }: { batch: BatchDetail }) {
  return (
    <>
      {refused !== null && <Trouble>It cannot be called here: {refused}</Trouble>}
      <Table
        caption="What it calls at its end"
        rows={calls}
        keyOf={({ end }) => end}
        empty="It calls nothing."
        columns={callColumns}
      />
    </>
  );
}

interface ChildrenProps {
  readonly id: string;
  readonly path: string;
  readonly state: keyof typeof states;
  /** A complete batch hardly changes. */
  readonly goesOn: boolean;
}

function Children({ id, path, state, goesOn }: ChildrenProps) {
  const filter = { state: state === 'all' ? null : state };
  const loaded = usePages(`${path}/children`, filter, ({ children }: BatchChildPage) => children);
  useRefresh(loaded, goesOn ? 5_000 : 30_000);
  return (
    <Panel
      title="Children"
      actions={
        <nav class="choice" aria-label="Which children">
          {Object.entries(states).map(([name, label]) => (
            <a
              key={name}
              href={linkTo(['batches', id], { children: name === 'all' ? null : name })}
              aria-current={name === state ? 'true' : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
      }
    >
      <PagedTable
        loaded={loaded}
        caption="Children"
        keyOf={({ number }) => String(number)}
        empty={state === 'failed' ? 'None has failed.' : state === 'open' ? 'All have ended.' : 'None yet.'}
        columns={childColumns}
      />
    </Panel>
  );
}

/** The child's state according to the batch, if that says more than the job's record. */
function ChildState({ child: { end, record } }: { child: BatchChild }) {
  if (record === null) return <Badge word={end === 'open' ? 'not known' : end} />;
  return <Badge word={record.status} />;
}

const childColumns: readonly Column<BatchChild>[] = [
  { name: 'Child', numeric: true, of: ({ number }) => count(number) },
  { name: 'State', of: (child) => <ChildState child={child} /> },
  {
    name: 'Job',
    of: ({ id, record }) =>
      record === null ? 'no record is kept' : <TextLink href={linkTo(['jobs', id])} value={record.job} />,
  },
  { name: 'Runs', numeric: true, of: ({ record }) => (record ? count(record.runs) : '–') },
  {
    name: 'Why it failed',
    of: ({ end, record }) =>
      end === 'failed' && record === null ? (
        'it was removed, or is no longer kept'
      ) : record?.error != null ? (
        <Wrapped value={record.error} />
      ) : (
        '–'
      ),
  },
];
