/** Shared parts of lists of schedules: due times and actions. */

import type { StoredScheduleView } from '../../../core/surfaces/dashboard/api.ts';
import { ownZone } from '../data/format.ts';
import { Action, AskedAction, Pause } from './action.tsx';
import type { Column } from './table.tsx';
import { Text } from './text.tsx';
import { Ago, Moment } from './time.tsx';

type Timed = Pick<StoredScheduleView, 'name' | 'job' | 'when' | 'timezone' | 'paused' | 'nextAt'>;

export const momentColumns: readonly Column<Timed>[] = [
  { name: 'Job', of: ({ job }) => <Text value={job} /> },
  {
    name: 'When',
    of: ({ when, timezone }) => <Text value={timezone === null ? when : `${when} (${timezone})`} mono />,
  },
  {
    name: 'Next',
    of: ({ nextAt, timezone, paused }) =>
      nextAt === null || paused ? '–' : <Zoned at={nextAt} zone={timezone} />,
  },
  { name: 'In', of: ({ nextAt, paused }) => (nextAt === null || paused ? '–' : <Ago at={nextAt} />) },
];

/** The local time, and the time in the schedule's zone if that differs. */
export function Zoned({ at, zone }: { at: number; zone: string | null }) {
  if (zone === null || zone === ownZone) return <Moment at={at} />;
  return (
    <>
      <Moment at={at} />{' '}
      <span class="soft">
        <Moment at={at} zone={zone} /> {zone}
      </span>
    </>
  );
}

interface ScheduleActionsProps {
  readonly schedule: Pick<Timed, 'name' | 'paused'>;
  readonly onDone: () => void;
  /** `null` = it cannot be removed here. */
  readonly onRemoved?: (() => void) | null;
}

export function ScheduleActions({
  schedule: { name, paused },
  onDone,
  onRemoved = null,
}: ScheduleActionsProps) {
  const path = `schedules/${encodeURIComponent(name)}`;
  return (
    <>
      <Action label="Run now" path={`${path}/run`} onDone={onDone} />
      <Pause path={path} paused={paused} onDone={onDone} />
      {onRemoved !== null && (
        <AskedAction
          label="Remove"
          path={`${path}/remove`}
          question="Remove this schedule?"
          answer="Remove the schedule"
          dangerous
          onDone={onRemoved}
        >
          <p>
            <Text value={name} /> enqueues nothing any more. Jobs that it has enqueued stay.
          </p>
        </AskedAction>
      )}
    </>
  );
}
