import type { ScheduleRun, SkippedMoments } from '../../../core/features/schedules/history.ts';
import type { ScheduleDetail, ScheduleView } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { isUnavailable } from '../data/client.ts';
import { duration, ownZone, plural } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { go, linkTo } from '../data/route.ts';
import { Empty, Facts, Head, Panel, Shown, Trouble } from '../parts/frame.tsx';
import { momentColumns, ScheduleActions, Zoned } from '../parts/schedule.tsx';
import { Badge } from '../parts/status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { TablePage } from '../parts/table-page.tsx';
import { Json, Text, TextLink } from '../parts/text.tsx';
import { Ago, Moment, MomentAgo } from '../parts/time.tsx';
import type { ViewProps } from './page.ts';
import { StoredSchedules } from './stored-schedules.tsx';

export function Schedules({ path, query }: ViewProps) {
  return path[0] === undefined ? (
    <ScheduleTable query={query} />
  ) : (
    <OneSchedule key={path[0]} name={path[0]} />
  );
}

const ScheduleTable = ({ query }: { query: URLSearchParams }) => (
  <>
    <TablePage<ScheduleView>
      title="Schedules"
      note={`Times are of ${ownZone}; a schedule's own zone is beside it.`}
      path="schedules"
      everyMs={10_000}
      keyOf={({ name }) => name}
      empty="This app has no schedule in code. defineSchedule() makes one."
      columns={columns}
      actions={(schedule, reload) => <ScheduleActions schedule={schedule} onDone={reload} />}
    />
    <StoredSchedules from={query.get('from') ?? ''} />
  </>
);

const columns: readonly Column<ScheduleView>[] = [
  {
    name: 'Schedule',
    of: ({ name, paused }) => (
      <>
        <TextLink href={linkTo(['schedules', name])} value={name} />{' '}
        {paused && <Badge word="paused" tone="warn" />}
      </>
    ),
  },
  ...momentColumns,
  {
    name: 'Last',
    of: ({ last }) =>
      last === null ? (
        'never yet'
      ) : (
        <>
          <a href={linkTo(['jobs', last.id])}>
            <Moment at={last.dueAt} />
          </a>{' '}
          <Badge word={last.status} /> {last.slow && <Badge word="slow" tone="warn" />}
        </>
      ),
  },
];

function OneSchedule({ name }: { name: string }) {
  const loaded = useLoad<ScheduleDetail>(`schedules/${encodeURIComponent(name)}`, 10_000);
  const mayAct = useMayAct();
  return (
    <Shown loaded={loaded} title="Schedule">
      {(schedule) => (
        <>
          <Head
            title={<Text value={schedule.name} />}
            note={schedule.paused ? <Badge word="paused" tone="warn" /> : undefined}
          >
            {mayAct && (
              <ScheduleActions
                schedule={schedule}
                onDone={loaded.reload}
                onRemoved={schedule.stored === null ? null : () => go(linkTo(['schedules']))}
              />
            )}
          </Head>
          {schedule.stored !== null && schedule.stored.failure !== null && (
            <Trouble>Its job could not be enqueued at the last try: {schedule.stored.failure}</Trouble>
          )}
          <Panel title="Facts">
            <Facts
              facts={[
                [
                  'Job',
                  <TextLink href={linkTo(['jobs'], { schedule: schedule.name })} value={schedule.job} />,
                ],
                ['When', <Text value={schedule.when} mono />],
                ['Zone', schedule.timezone ?? 'UTC'],
                ['Overlap', schedule.overlap],
                ['Missed', schedule.missed],
                ['Made', schedule.stored === null ? 'in code' : <MomentAgo at={schedule.stored.createdAt} />],
                ['Changed', schedule.stored && <MomentAgo at={schedule.stored.changedAt} />],
                ['Tenant', schedule.stored?.tenantId && <Text value={schedule.stored.tenantId} />],
              ]}
            />
          </Panel>
          {schedule.stored !== null && schedule.stored.payload !== null && (
            <Panel title="Payload">
              <Json value={schedule.stored.payload} label="Payload" />
            </Panel>
          )}
          <Panel title="Next">
            {schedule.next.length === 0 ? (
              <Empty>
                {schedule.paused
                  ? 'It is paused: nothing is enqueued until it is resumed.'
                  : 'There is no further moment.'}
              </Empty>
            ) : (
              <ol class="moments">
                {schedule.next.map((at) => (
                  <li key={at}>
                    <Zoned at={at} zone={schedule.timezone} /> <Ago at={at} />
                  </li>
                ))}
              </ol>
            )}
          </Panel>
          <Panel title="History">
            {isUnavailable(schedule.history) ? (
              <Empty>{schedule.history.unavailable}</Empty>
            ) : (
              <Table
                caption="What became of its moments, newest first"
                rows={schedule.history.entries}
                keyOf={(one) => `${one.kind} ${one.dueAt} ${one.id}`}
                empty="No moment has passed yet, or no record of one is kept."
                columns={historyColumns}
              />
            )}
          </Panel>
        </>
      )}
    </Shown>
  );
}

type Entry = ScheduleRun | SkippedMoments;

const historyColumns: readonly Column<Entry>[] = [
  {
    name: 'Moment',
    of: (one) =>
      one.id === null ? (
        <Moment at={one.dueAt} />
      ) : (
        <a href={linkTo(['jobs', one.id])}>
          <Moment at={one.dueAt} />
        </a>
      ),
  },
  {
    name: 'What became of it',
    of: (one) =>
      one.kind === 'run' ? (
        <>
          <Badge word={one.status} /> {one.slow && <Badge word="slow" tone="warn" />}
        </>
      ) : (
        <Badge word={`${plural(one.count, 'moment')} left out: ${one.reason}`} tone="warn" />
      ),
  },
  { name: 'Late', numeric: true, of: (one) => (one.kind === 'run' ? duration(one.lateMs) : '–') },
  { name: 'Attempts', numeric: true, of: (one) => (one.kind === 'run' ? String(one.attempts) : '–') },
  {
    name: 'Took',
    numeric: true,
    of: (one) => (one.kind === 'run' && one.durationMs !== null ? duration(one.durationMs) : '–'),
  },
  {
    name: 'Error',
    of: (one) => (one.kind === 'run' && one.error !== null ? <Text value={one.error} /> : '–'),
  },
];
