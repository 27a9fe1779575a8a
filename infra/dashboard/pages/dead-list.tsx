import { useEffect, useState } from 'preact/hooks';
import type { DeadLetterItem, DeadLetterItems } from '../../../core/operator/types.ts';
import { useMayAct } from '../data/act.ts';
import { ask, isUnavailable, Problem, queryOf, session } from '../data/client.ts';
import { bytes, count, moment, plural } from '../data/format.ts';
import { onKeys } from '../data/keys.ts';
import { usePages } from '../data/load.ts';
import { linkTo, replaceWith } from '../data/route.ts';
import { writeSearch } from '../data/search.ts';
import type { Unavailable } from '../data/shapes.ts';
import { BulkDialog } from '../parts/bulk-dialog.tsx';
import { Head, Trouble } from '../parts/frame.tsx';
import { type RowColumn, Rows } from '../parts/rows.tsx';
import { SearchBox } from '../parts/search.tsx';
import { Badge } from '../parts/status.tsx';
import { Text } from '../parts/text.tsx';
import { deadFields, deadFilterOf, typedFilter } from './dead-fields.ts';
import type { ViewProps } from './page.ts';

const pageSize = 100;

export function DeadLetterList({ query }: ViewProps) {
  const fields = deadFields(session.get()!);
  const filter = deadFilterOf(query, fields);
  const path = (after: string | null): string => `dead${queryOf({ ...filter, max: pageSize, after })}`;
  const loaded = usePages<DeadLetterItem>(path(null), async (after, signal) => {
    const page = await ask<DeadLetterItems | Unavailable>(path(after), signal);
    if (isUnavailable(page)) throw new Problem(200, 'UNAVAILABLE', page.unavailable);
    return { items: page.letters, next: page.next };
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [action, setAction] = useState<'retry' | 'discard' | null>(null);
  const mayAct = useMayAct();
  useEffect(() => onKeys({ r: loaded.reload }), [path(null)]);
  useEffect(() => setChosen(new Set()), [path(null)]);
  const { items, more, problem, loading } = loaded;
  const written = writeSearch(filter, fields, null);

  function choose(id: string, isChosen: boolean): void {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  }
  const choice: RowColumn<DeadLetterItem> = {
    name: 'Choose',
    width: '4.2rem',
    of: ({ id }) => (
      <input
        type="checkbox"
        aria-label={`Choose ${id}`}
        checked={chosen.has(id)}
        onChange={({ currentTarget }) => choose(id, currentTarget.checked)}
      />
    ),
  };
  const words =
    chosen.size > 0
      ? plural(chosen.size, 'chosen one')
      : written === ''
        ? 'all there are'
        : `all with ${written}`;
  return (
    <div class="fills">
      <Head title="Dead letters" note="One by one, newest first.">
        <a class="button" href={linkTo(['dead'], filter)}>
          In groups
        </a>
        {mayAct && (
          <>
            <button type="button" onClick={() => setAction('retry')}>
              Retry {chosen.size > 0 ? plural(chosen.size, 'chosen one') : 'all'}…
            </button>
            <button type="button" onClick={() => setAction('discard')}>
              Discard {chosen.size > 0 ? plural(chosen.size, 'chosen one') : 'all'}…
            </button>
          </>
        )}
      </Head>
      <SearchBox
        label="Search dead letters with filters like job:, reason:, error:"
        hint="job:…, reason:exhausted, tenant:…, error:&quot;…&quot;, from:2h"
        fields={fields}
        alone="error"
        filter={filter}
        onFilter={(next) => replaceWith(linkTo(['letters'], next))}
      />
      {problem !== null && <Trouble>{problem}</Trouble>}
      <p class="hidden" aria-live="polite">
        {loading
          ? ''
          : `${count(items.length)} dead letters are listed${more ? ', and there are more' : ''}.`}
      </p>
      <Rows
        caption="Dead letters, newest first"
        columns={mayAct ? [choice, ...columns] : columns}
        rows={items}
        keyOf={({ id }) => id}
        more={more === true && problem === null}
        loading={loading}
        onNearEnd={loaded.loadMore}
        end={
          loading ? (
            'Loading…'
          ) : more ? (
            <button type="button" class="quiet" onClick={loaded.loadMore}>
              Look further back
            </button>
          ) : items.length > 0 ? (
            `${count(items.length)} are listed: that is all there is.`
          ) : (
            'No dead letter is like this.'
          )
        }
      />
      {action !== null && (
        <BulkDialog
          action={action}
          selection={chosen.size > 0 ? { ids: [...chosen] } : { filter: typedFilter(filter) }}
          words={words}
          onClose={() => setAction(null)}
          onDone={() => {
            setChosen(new Set());
            loaded.reload();
          }}
        />
      )}
    </div>
  );
}

const columns: readonly RowColumn<DeadLetterItem>[] = [
  { name: 'Reason', width: '6.5rem', of: ({ reason }) => <Badge word={reason} tone="bad" /> },
  {
    name: 'Job',
    width: 'minmax(7rem, 1fr)',
    main: true,
    of: ({ id, job }) => (
      <a href={linkTo(['letter', id])}>
        <Text value={job || 'no known job'} />
      </a>
    ),
  },
  { name: 'Id', width: 'minmax(6rem, 1fr)', of: ({ id }) => <Text value={id} mono /> },
  { name: 'Queue', width: 'minmax(4rem, .6fr)', of: ({ queue }) => <Text value={queue} /> },
  {
    name: 'Tenant',
    width: 'minmax(4rem, .6fr)',
    of: ({ tenantId }) => tenantId !== null && <Text value={tenantId} />,
  },
  { name: 'Runs', width: '3.5rem', of: ({ attempt }) => count(attempt) },
  { name: 'Died', width: '11.5rem', of: ({ diedAt }) => moment(diedAt) },
  { name: 'Size', width: '4.8rem', of: ({ bytes: size }) => bytes(size) },
  { name: 'Error', width: 'minmax(8rem, 2fr)', of: ({ error }) => <Text value={error} /> },
];
