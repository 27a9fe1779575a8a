import type { LimitPage, LimitView } from '../../../core/features/limits/views.ts';
import type { OfOne } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { queryOf } from '../data/client.ts';
import { count, duration, plural } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { AskedAction } from '../parts/action.tsx';
import { Empty, Head, Shown } from '../parts/frame.tsx';
import { PrefixBox } from '../parts/prefix-box.tsx';
import { Badge } from '../parts/status.tsx';
import { StoppedPanel } from '../parts/stopped-jobs.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { TextLink, Wrapped } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import type { ViewProps } from './page.ts';

const most = 200;

export function Limits({ query }: ViewProps) {
  const prefix = query.get('prefix') ?? '';
  const loaded = useLoad<LimitPage>(`limits${queryOf({ prefix, max: most })}`, 5_000);
  const actions: Column<OfOne<LimitView>> = {
    name: 'Actions',
    of: (limit) => <Reset limit={limit} onDone={loaded.reload} />,
  };
  const all = useMayAct() ? [...columns, actions] : columns;
  return (
    <>
      <Head title="Limits" note="Over all workers. A job that waits for one says so on its own page." />
      <StoppedPanel />
      <PrefixBox
        label="Show limits whose key begins so"
        hint="Beginning of a key: job:shop.sync:"
        value={prefix}
        linkOf={(prefix) => linkTo(['limits'], { prefix })}
      />
      <Shown loaded={loaded}>
        {({ limits, next }) => (
          <>
            <Table
              caption="Limits"
              rows={limits}
              keyOf={({ key }) => key}
              empty={
                prefix === ''
                  ? 'No job and no queue of this app has a limit, and no limit is in use.'
                  : 'No limit begins like this.'
              }
              columns={all}
            />
            {next !== null && (
              <Empty>There are more. Type how the keys of those begin that you look for.</Empty>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

const columns: readonly Column<LimitView>[] = [
  {
    name: 'Limit',
    of: ({ key, keyPart, perKey }) => <Wrapped value={perKey && keyPart === null ? `${key}:<key>` : key} />,
  },
  { name: 'In use', numeric: true, of: usedText },
  { name: 'Waiting', numeric: true, of: ({ waiting }) => count(waiting) },
  {
    name: 'Held',
    of: ({ heldUntil, kind }) => {
      if (heldUntil === null) return '–';
      if (heldUntil === 'reset')
        return <Badge word={kind === 'pause' ? 'paused' : 'until a reset'} tone="warn" />;
      return (
        <>
          ends <Ago at={heldUntil} />
        </>
      );
    },
  },
  { name: 'By', of: (limit) => <Holders {...limit} /> },
];

function usedText({ used, limit, perMs }: LimitView): string {
  const slots = limit === null ? count(used) : `${count(used)} of ${count(limit)}`;
  return perMs === null ? slots : `${slots} in ${duration(perMs)}`;
}

const mostNamed = 3;

/** Most holders of a rate have already ended. */
function Holders({ kind, holders, used }: LimitView) {
  if (kind !== 'concurrency' || used === 0) return <>–</>;
  const named = holders.slice(0, mostNamed);
  return (
    <>
      {named.map(({ id }) => (
        <div key={id}>
          <TextLink href={linkTo(['jobs', id])} value={id} mono />
        </div>
      ))}
      {used > named.length && `and ${count(used - named.length)} more`}
    </>
  );
}

function Reset({ limit, onDone }: { limit: OfOne<LimitView>; onDone: () => void }) {
  const { key, used, heldUntil, waiting, backend } = limit;
  return (
    <div class="actions">
      <AskedAction
        label="Reset"
        path={`limits/reset${queryOf({ backend })}`}
        body={{ key }}
        disabled={used === 0 && heldUntil === null && waiting === 0}
        question="Reset this limit?"
        answer="Free its slots"
        dangerous
        onDone={onDone}
      >
        <p>
          <Wrapped value={key} />
        </p>
        <p>
          {plural(used, 'slot')} in use, {plural(waiting, 'job')} waiting. What runs goes on, so that for a
          while more may run than the limit says. What waits comes at once.
        </p>
      </AskedAction>
    </div>
  );
}
