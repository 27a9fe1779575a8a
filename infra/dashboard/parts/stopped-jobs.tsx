/** Jobs that are stopped by a pause or their breaker, and the actions that resume them. */

import { useState } from 'preact/hooks';
import type { Rows, StoppedView } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { session } from '../data/client.ts';
import { count } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { useStore } from '../data/store.ts';
import { Action, AskedAction } from './action.tsx';
import { Panel, Shown } from './frame.tsx';
import { Badge } from './status.tsx';
import { type Column, Table } from './table.tsx';
import { TextLink } from './text.tsx';
import { Ago } from './time.tsx';

const words = { paused: 'paused', open: 'breaker open', trying: 'one is tried' } as const;

const pathOf = (job: string, verb: string): string => `stopped/${encodeURIComponent(job)}/${verb}`;

/** The jobs of this app; others are unknown here. */
const useJobs = (): readonly string[] => useStore(session)?.app.jobs ?? [];

const columns: readonly Column<StoppedView>[] = [
  { name: 'Job', of: ({ job }) => <TextLink href={linkTo(['jobs'], { job })} value={job} /> },
  {
    name: 'State',
    of: ({ state }) => <Badge word={words[state]} tone={state === 'open' ? 'bad' : 'warn'} />,
  },
  {
    name: 'Until',
    of: ({ state, until }) => {
      if (state === 'paused') return 'it is resumed';
      return until === null ? 'one succeeds' : <Ago at={until} />;
    },
  },
  {
    name: 'Failures in a row',
    numeric: true,
    of: ({ state, failures }) => (state === 'paused' ? '–' : count(failures)),
  },
  { name: 'Waiting', numeric: true, of: ({ waiting }) => count(waiting) },
];

export function StoppedTable({ stopped, onDone }: { stopped: readonly StoppedView[]; onDone: () => void }) {
  const own = useJobs();
  const actions: Column<StoppedView> = {
    name: 'Actions',
    of: (one) => own.includes(one.job) && <LetGo {...one} onDone={onDone} />,
  };
  return (
    <Table
      caption="Stopped jobs"
      rows={stopped}
      keyOf={({ job, state }) => `${job} ${state}`}
      empty="No job is paused, and no breaker is open."
      columns={useMayAct() ? [...columns, actions] : columns}
    />
  );
}

function LetGo({ job, state, waiting, onDone }: StoppedView & { onDone: () => void }) {
  return (
    <div class="actions">
      {state === 'paused' ? (
        <Action label="Resume" path={pathOf(job, 'resume')} onDone={onDone} />
      ) : (
        <AskedAction
          label="Close breaker"
          path={pathOf(job, 'close-breaker')}
          question="Close this breaker?"
          answer="Let its jobs run"
          dangerous
          onDone={onDone}
        >
          <p>
            The failures of {job} are forgotten. What waits for the breaker ({count(waiting)}) comes at once,
            whether the service that it needs is back or not.
          </p>
        </AskedAction>
      )}
    </div>
  );
}

/** All stopped jobs, and a way to pause another one. */
export function StoppedPanel() {
  const loaded = useLoad<Rows<StoppedView>>('stopped', 5_000);
  const mayAct = useMayAct();
  if (loaded.unavailable !== null) return null;
  return (
    <Panel title="Stopped jobs" actions={mayAct && <PauseJob onDone={loaded.reload} />}>
      <Shown loaded={loaded}>{({ rows }) => <StoppedTable stopped={rows} onDone={loaded.reload} />}</Shown>
    </Panel>
  );
}

function PauseJob({ onDone }: { onDone: () => void }) {
  const names = useJobs();
  const [chosen, choose] = useState(names[0] ?? '');
  return (
    <AskedAction
      label="Pause a job"
      path={pathOf(chosen, 'pause')}
      disabled={names.length === 0}
      question="Pause the jobs of one name?"
      answer="Pause"
      onDone={onDone}
    >
      <p>
        <label>
          Job{' '}
          <select value={chosen} onChange={({ currentTarget }) => choose(currentTarget.value)}>
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </p>
      <p>
        No job of this name begins any more, on any worker, until it is resumed. Running ones end. Those that
        come wait, and no attempt is spent.
      </p>
    </AskedAction>
  );
}
