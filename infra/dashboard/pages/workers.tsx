import { useState } from 'preact/hooks';
import type { WorkerView } from '../../../core/dashboard/api.ts';
import { useAct, useMayAct } from '../data/act.ts';
import { segment } from '../data/client.ts';
import { bytes, count } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import type { Unavailable } from '../data/shapes.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Head, Shown } from '../parts/frame.tsx';
import { Badge } from '../parts/status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Text } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';

export function Workers() {
  const loaded = useLoad<readonly WorkerView[] | Unavailable>('workers', 3_000);
  const mayAct = useMayAct();
  const actions: Column<WorkerView> = {
    name: 'Actions',
    of: (worker) => <Drain worker={worker} onDone={loaded.reload} />,
  };
  return (
    <>
      <Head title="Workers" />
      <Shown loaded={loaded}>
        {(workers) => (
          <Table
            caption="Workers"
            rows={workers}
            keyOf={({ id }) => id}
            empty="No worker was seen lately. Start one: longshore work."
            columns={mayAct ? [...columns, actions] : columns}
          />
        )}
      </Shown>
    </>
  );
}

const columns: readonly Column<WorkerView>[] = [
  {
    name: 'Worker',
    of: ({ id, state, draining }) => (
      <>
        <Badge word={state} /> {draining && <Badge word="draining" tone="busy" />}{' '}
        <a href={linkTo(['jobs'], { worker: id })}>
          <Text value={id} mono />
        </a>
      </>
    ),
  },
  { name: 'Host', of: ({ host, pid }) => <Text value={`${host}, process ${pid}`} /> },
  { name: 'Queues', of: ({ queues }) => <Text value={queues.join(', ')} /> },
  { name: 'Last beat', of: ({ seenAt }) => <Ago at={seenAt} /> },
  { name: 'Started', of: ({ startedAt }) => <Ago at={startedAt} /> },
  {
    name: 'Running',
    numeric: true,
    of: ({ running, concurrency }) => `${count(running)} of ${count(concurrency)}`,
  },
  { name: 'Done', numeric: true, of: ({ counts }) => count(counts.acked) },
  { name: 'Failed', numeric: true, of: ({ failed }) => (failed === undefined ? '–' : count(failed)) },
  { name: 'Memory', numeric: true, of: ({ memoryBytes }) => bytes(memoryBytes) },
  {
    name: 'Runs now',
    of: ({ jobs, running }) =>
      jobs.length === 0 ? (
        '–'
      ) : (
        <ul class="running">
          {jobs.map(({ id, job, startedAt }) => (
            <li key={id}>
              <a href={linkTo(['jobs', id])}>
                <Text value={job} />
              </a>{' '}
              <span class="soft">
                <Ago at={startedAt} />
              </span>
            </li>
          ))}
          {running > jobs.length && <li class="soft">and {count(running - jobs.length)} more</li>}
        </ul>
      ),
  },
];

function Drain({
  worker: { id, running, draining, state },
  onDone,
}: {
  worker: WorkerView;
  onDone: () => void;
}) {
  const [asked, ask] = useState(false);
  const [busy, act] = useAct(onDone);
  return (
    <div class="actions">
      <button type="button" disabled={busy || draining || state === 'gone'} onClick={() => ask(true)}>
        Drain…
      </button>
      {asked && (
        <Confirm
          title="Drain this worker?"
          action="Drain it"
          busy={busy}
          onClose={() => ask(false)}
          onConfirm={() => void act(`workers/${segment(id)}/drain`).then(() => ask(false))}
        >
          <p>
            <Text value={id} mono /> takes no more jobs, and its process ends when the {count(running)} that
            run now have ended. Whatever started it may start it anew.
          </p>
        </Confirm>
      )}
    </div>
  );
}
