import { useState } from 'preact/hooks';
import type { QueueView, Unavailable } from '../../../core/dashboard/api.ts';
import { useAct, useMayAct } from '../data/act.ts';
import { segment } from '../data/client.ts';
import { count, duration, plural, rate } from '../data/format.ts';
import { live } from '../data/live.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { useStore } from '../data/store.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Head, Shown } from '../parts/frame.tsx';
import { Badge } from '../parts/status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Text } from '../parts/text.tsx';

export function Queues() {
  const loaded = useLoad<readonly QueueView[] | Unavailable>('queues', 10_000);
  const now = useStore(live).live;
  const mayAct = useMayAct();
  /** The counts of the last event are newer than those that were loaded. */
  const fresh = (queue: QueueView): QueueView => ({
    ...queue,
    ...now?.queues.find((one) => one.queue === queue.queue),
  });
  const actions: Column<QueueView> = {
    name: 'Actions',
    of: (queue) => <Actions queue={queue} onDone={loaded.reload} />,
  };
  return (
    <>
      <Head title="Queues" />
      <Shown loaded={loaded}>
        {(queues) => (
          <Table
            caption="Queues"
            rows={queues.map(fresh)}
            keyOf={({ queue }) => queue}
            empty="There is no queue yet. One is made when the first job is enqueued."
            columns={mayAct ? [...columns, actions] : columns}
          />
        )}
      </Shown>
    </>
  );
}

const columns: readonly Column<QueueView>[] = [
  {
    name: 'Queue',
    of: ({ queue, paused }) => (
      <>
        <a href={linkTo(['jobs'], { queue })}>
          <Text value={queue} />
        </a>{' '}
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
    of: ({ dead, queue }) =>
      dead === 0 ? (
        '0'
      ) : (
        <a class="bad" href={linkTo(['dead'], { queue })}>
          {count(dead)}
        </a>
      ),
  },
  { name: 'Oldest', numeric: true, of: ({ oldestReadyMs: ms }) => (ms === null ? '–' : duration(ms)) },
  { name: 'Done/min', numeric: true, of: ({ rates }) => (rates === null ? '–' : rate(rates.donePerMinute)) },
  {
    name: 'Failed/min',
    numeric: true,
    of: ({ rates }) => (rates === null ? '–' : rate(rates.failedPerMinute)),
  },
  {
    name: 'Waits p95',
    numeric: true,
    of: ({ rates }) => (rates === null || rates.waitP95Ms === null ? '–' : duration(rates.waitP95Ms)),
  },
  {
    name: 'Workers',
    numeric: true,
    of: ({ workers, ready }) =>
      workers === null ? '–' : workers === 0 && ready > 0 ? <Badge word="none" tone="bad" /> : count(workers),
  },
  { name: 'Jobs', of: ({ jobs }) => <Text value={jobs.join(', ') || '–'} /> },
];

function Actions({
  queue: { queue, paused, ready, delayed },
  onDone,
}: {
  queue: QueueView;
  onDone: () => void;
}) {
  const [clearing, setClearing] = useState(false);
  const [busy, act] = useAct(onDone);
  const path = `queues/${segment(queue)}`;
  return (
    <div class="actions">
      <button
        type="button"
        disabled={busy}
        onClick={() => void act(`${path}/${paused ? 'resume' : 'pause'}`)}
      >
        {paused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" disabled={busy || ready + delayed === 0} onClick={() => setClearing(true)}>
        Clear…
      </button>
      {clearing && (
        <Confirm
          title="Clear this queue?"
          action={`Remove ${plural(ready + delayed, 'job')}`}
          dangerous
          busy={busy}
          onClose={() => setClearing(false)}
          onConfirm={() => void act(`${path}/clear`).then(() => setClearing(false))}
        >
          <p>
            All that waits in <Text value={queue} /> is removed for good: {plural(ready, 'job')} ready,{' '}
            {plural(delayed, 'job')} for later. What runs ends normally, and dead letters stay.
          </p>
        </Confirm>
      )}
    </div>
  );
}
