import type { StoredScheduleList, StoredScheduleView } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { usePages, useRefresh } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { Empty, Panel } from '../parts/frame.tsx';
import { PagedTable } from '../parts/paged-table.tsx';
import { PrefixBox } from '../parts/prefix-box.tsx';
import { momentColumns, ScheduleActions } from '../parts/schedule.tsx';
import { Badge } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Text, TextLink } from '../parts/text.tsx';

/** Schedules made at run time: there may be a million, so they are listed page by page. */
export function StoredSchedules({ from }: { from: string }) {
  const loaded = usePages('stored-schedules', { from }, ({ schedules }: StoredScheduleList) => schedules);
  useRefresh(loaded, 10_000);
  const { unavailable, reload } = loaded;
  const actions: Column<StoredScheduleView> = {
    name: 'Actions',
    of: (schedule) => (
      <div class="actions">
        <ScheduleActions schedule={schedule} onDone={reload} />
      </div>
    ),
  };
  const all = useMayAct() ? [...columns, actions] : columns;
  return (
    <Panel title="Made at run time">
      {unavailable !== null ? (
        <Empty>{unavailable}</Empty>
      ) : (
        <>
          <PrefixBox
            label="Show schedules made at run time whose names begin so, and those behind them"
            hint="Beginning of a name"
            value={from}
            linkOf={(from) => linkTo(['schedules'], { from })}
          />
          <PagedTable
            loaded={loaded}
            caption="Schedules made at run time, by name"
            keyOf={({ name }) => name}
            empty={
              from === ''
                ? 'No schedule was made at run time. client.schedules.upsert() makes one.'
                : 'There is no such name, and none behind it.'
            }
            columns={all}
          />
        </>
      )}
    </Panel>
  );
}

const columns: readonly Column<StoredScheduleView>[] = [
  {
    name: 'Schedule',
    of: ({ name, paused, failure }) => (
      <>
        <TextLink href={linkTo(['schedules', name])} value={name} />{' '}
        {paused && <Badge word="paused" tone="warn" />}{' '}
        {failure !== null && <Badge word="fails" tone="bad" />}
      </>
    ),
  },
  ...momentColumns,
  { name: 'Tenant', of: ({ tenantId }) => (tenantId === null ? '–' : <Text value={tenantId} />) },
];
