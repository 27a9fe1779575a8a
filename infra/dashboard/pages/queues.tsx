import type { OfOne, QueueView } from '../../../core/surfaces/dashboard/api.ts';
import { queryOf } from '../data/client.ts';
import { count, duration, orNone, plural, rate } from '../data/format.ts';
import { live } from '../data/live.ts';
import { linkTo } from '../data/route.ts';
import { useStore } from '../data/store.ts';
import { AskedAction, Pause } from '../parts/action.tsx';
import { Badge } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { TablePage } from '../parts/table-page.tsx';
import { Text, TextLink } from '../parts/text.tsx';

export function Queues() {
  const now = useStore(live).live;
  /** The counts of the last event are newer than those that were loaded. */
  const fresh = (row: OfOne<QueueView>): OfOne<QueueView> => ({
    ...row,
    ...now?.queues.find((one) => one.queue === row.queue && one.backend === row.backend),
  });
  return (
    <TablePage<QueueView>
      title="Queues"
      path="queues"
      everyMs={10_000}
      rowsOf={(queues) => queues.map(fresh)}
      keyOf={({ queue }) => queue}
      empty="There is no queue yet. One is made when the first job is enqueued."
      columns={columns}
      actions={(queue, reload) => <Actions queue={queue} onDone={reload} />}
    />
  );
}

const columns: readonly Column<OfOne<QueueView>>[] = [
  {
    name: 'Queue',
    of: ({ queue, backend, paused }) => (
      <>
        <TextLink href={linkTo(['jobs'], { queue, backend })} value={queue} />{' '}
        {paused && <Badge word="paused" tone="warn" />}
      </>
    ),
  },
  { name: 'Waiting', numeric: true, of: ({ ready }) => count(ready) },
  { name: 'For later', numeric: true, of: ({ delayed }) => count(delayed) },
  { name: 'Running', numeric: true, of: ({ leased }) => count(leased) },
  {
    name: 'Dead',
    numeric: true,
    of: ({ dead, queue, backend }) =>
      dead === 0 ? (
        '0'
      ) : (
        <a class="bad" href={linkTo(['dead'], { queue, backend })}>
          {count(dead)}
        </a>
      ),
  },
  { name: 'Oldest', numeric: true, of: ({ oldestReadyMs }) => orNone(oldestReadyMs, duration) },
  { name: 'Done/min', numeric: true, of: ({ rates }) => orNone(rates?.donePerMinute, rate) },
  { name: 'Failed/min', numeric: true, of: ({ rates }) => orNone(rates?.failedPerMinute, rate) },
  { name: 'Waits p95', numeric: true, of: ({ rates }) => orNone(rates?.waitP95Ms, duration) },
  {
    name: 'Workers',
    numeric: true,
    of: ({ workers, ready }) =>
      workers === null ? '–' : workers === 0 && ready > 0 ? <Badge word="none" tone="bad" /> : count(workers),
  },
  { name: 'Jobs', of: ({ jobs }) => <Text value={jobs.join(', ') || '–'} /> },
];

function Actions({
  queue: { queue, backend, paused, ready, delayed },
  onDone,
}: {
  queue: OfOne<QueueView>;
  onDone: () => void;
}) {
  const path = `queues/${encodeURIComponent(queue)}`;
  const query = queryOf({ backend });
  return (
    <>
      <Pause path={path} query={query} paused={paused} onDone={onDone} />
      <AskedAction
        label="Clear"
        path={`${path}/clear${query}`}
        disabled={ready + delayed === 0}
        question="Clear this queue?"
        answer={`Remove ${plural(ready + delayed, 'job')}`}
        concerns={ready + delayed}
        dangerous
        onDone={onDone}
      >
        <p>
          All waiting jobs of <Text value={queue} />
          {backend !== undefined && ` on ${backend}`} are removed for good: {plural(ready, 'job')} ready,{' '}
          {plural(delayed, 'job')} for later. What runs ends normally, and dead letters stay.
        </p>
      </AskedAction>
    </>
  );
}
