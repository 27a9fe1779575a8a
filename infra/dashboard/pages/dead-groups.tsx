import { useEffect, useState } from 'preact/hooks';
import type { DeadLetterGroup, DeadLetterGroups, DeadLetterSelection } from '../../../core/operator/types.ts';
import { useMayAct } from '../data/act.ts';
import { queryOf, session } from '../data/client.ts';
import { count } from '../data/format.ts';
import { onKeys } from '../data/keys.ts';
import { useLoad } from '../data/load.ts';
import { linkTo, replaceWith } from '../data/route.ts';
import { writeSearch } from '../data/search.ts';
import type { Unavailable } from '../data/shapes.ts';
import { BulkDialog } from '../parts/bulk-dialog.tsx';
import { Head, Shown } from '../parts/frame.tsx';
import { SearchBox } from '../parts/search.tsx';
import { Badge } from '../parts/status.tsx';
import { Text } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { deadFields, deadFilterOf, typedFilter } from './dead-fields.ts';
import type { ViewProps } from './page.ts';

interface Bulk {
  readonly action: 'retry' | 'discard';
  readonly selection: DeadLetterSelection;
  readonly words: string;
}

export function DeadGroups({ query }: ViewProps) {
  const fields = deadFields(session.get()!);
  const filter = deadFilterOf(query, fields);
  const loaded = useLoad<DeadLetterGroups | Unavailable>(`dead/groups${queryOf(filter)}`, 30_000);
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const mayAct = useMayAct();
  const written = writeSearch(filter, fields, null);
  const allOf = (action: Bulk['action']): Bulk => ({
    action,
    selection: { filter: typedFilter(filter) },
    words: written === '' ? 'all there are' : `all with ${written}`,
  });
  const ofGroup = (action: Bulk['action'], { fingerprint, job, error }: DeadLetterGroup): Bulk => ({
    action,
    selection: { filter: { ...typedFilter(filter), fingerprint } },
    words: `those of ${job || 'no known job'} with “${error}”`,
  });
  useEffect(() => onKeys({ r: loaded.reload }), [loaded.reload]);
  return (
    <>
      <Head title="Dead letters" note="Jobs that will not run again by themselves, by what they died of.">
        <a class="button" href={linkTo(['letters'], filter)}>
          One by one
        </a>
        {mayAct && (
          <>
            <button type="button" onClick={() => setBulk(allOf('retry'))}>
              Retry all…
            </button>
            <button type="button" onClick={() => setBulk(allOf('discard'))}>
              Discard all…
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
        onFilter={(next) => replaceWith(linkTo(['dead'], next))}
      />
      <Shown loaded={loaded}>
        {({ groups, looked, complete }) => (
          <>
            <p class="note" aria-live="polite">
              {count(groups.length)} {groups.length === 1 ? 'group' : 'groups'} in {count(looked)} dead
              letters.
              {!complete && ' There are older ones, which are not counted here.'}
            </p>
            {groups.length === 0 ? (
              <p class="empty">
                {written === '' ? 'Nothing has died. Long may it last.' : 'No dead letter is like this.'}
              </p>
            ) : (
              <ul class="groups">
                {groups.map((group) => (
                  <li key={group.fingerprint}>
                    <Group
                      group={group}
                      link={linkTo(['letters'], { ...filter, fingerprint: group.fingerprint })}
                      onBulk={mayAct ? (action) => setBulk(ofGroup(action, group)) : null}
                    />
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Shown>
      {bulk !== null && <BulkDialog {...bulk} onClose={() => setBulk(null)} onDone={loaded.reload} />}
    </>
  );
}

interface GroupProps {
  readonly group: DeadLetterGroup;
  readonly link: string;
  readonly onBulk: ((action: 'retry' | 'discard') => void) | null;
}

function Group({ group, link, onBulk }: GroupProps) {
  const { job, reason, error, queues, count: letters, newestId, newestAt, oldestAt } = group;
  return (
    <>
      <a
        class="group-count"
        href={link}
        aria-label={`${count(letters)} dead letters of ${job || 'no known job'}`}
      >
        {count(letters)}
      </a>
      <div class="group-text">
        <p class="error-text">
          <a href={link}>
            <Text value={error || 'no error text'} />
          </a>
        </p>
        <p class="soft">
          <Badge word={reason} tone="bad" /> <Text value={job || 'no known job'} /> in{' '}
          <Text value={queues.join(', ')} /> · newest{' '}
          <a href={linkTo(['letter', newestId])}>
            <Ago at={newestAt} />
          </a>
          , oldest <Ago at={oldestAt} />
        </p>
      </div>
      {onBulk !== null && (
        <div class="actions">
          <button type="button" onClick={() => onBulk('retry')}>
            Retry…
          </button>
          <button type="button" onClick={() => onBulk('discard')}>
            Discard…
          </button>
        </div>
      )}
    </>
  );
}
