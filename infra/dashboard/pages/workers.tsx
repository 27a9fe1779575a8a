import type { WorkerView } from '../../../core/surfaces/dashboard/api.ts';
import { bytes, count } from '../data/format.ts';
import { linkTo } from '../data/route.ts';
import { AskedAction } from '../parts/action.tsx';
import { Badge } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { TablePage } from '../parts/table-page.tsx';
import { Text, TextLink } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';

export const Workers = () => (
  <TablePage<WorkerView>
    title="Workers"
    path="workers"
    everyMs={3_000}
    keyOf={({ id }) => id}
    empty="No worker was seen lately. Start one: longshore work."
    columns={columns}
    actions={({ id, running, draining, state }, reload) => (
      <AskedAction
        label="Drain"
        path={`workers/${encodeURIComponent(id)}/drain`}
        disabled={draining || state === 'gone'}
        question="Drain this worker?"
        answer="Drain it"
        onDone={reload}
      >
        <p>
          <Text value={id} mono /> takes no more jobs, and its process ends when the {count(running)} that run
          now have ended. Whatever started it may start it anew.
        </p>
      </AskedAction>
    )}
  />
);

const columns: readonly Column<WorkerView>[] = [
  {
    name: 'Worker',
    of: ({ id, state, draining }) => (
      <>
        <Badge word={state} /> {draining && <Badge word="draining" tone="busy" />}{' '}
        <TextLink href={linkTo(['jobs'], { worker: id })} value={id} mono />
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
    of: ({ running, concurrency, state }) =>
      state === 'healthy' ? `${count(running)} of ${count(concurrency)}` : '–',
  },
  { name: 'Done', numeric: true, of: ({ counts }) => count(counts.acked) },
  { name: 'Failed', numeric: true, of: ({ failed }) => (failed === undefined ? '–' : count(failed)) },
  { name: 'Memory', numeric: true, of: ({ memoryBytes }) => bytes(memoryBytes) },
  {
    name: 'Runs now',
    of: ({ jobs, running, state }) =>
      jobs.length === 0 ? (
        '–'
      ) : (
        <ul class="running">
          {state !== 'healthy' && <li class="soft">when it was last seen:</li>}
          {jobs.map(({ id, job, startedAt }) => (
            <li key={id}>
              <TextLink href={linkTo(['jobs', id])} value={job} />{' '}
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
