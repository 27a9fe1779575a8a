import { useState } from 'preact/hooks';
import type { DeadLetterGroup, DeadLetterGroups } from '../../../core/operations/types.ts';
import { queryOf } from '../data/client.ts';
import { count, plural } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { type Bulk, BulkButtons, BulkDialog } from '../parts/bulk-dialog.tsx';
import { Empty, Head, Shown } from '../parts/frame.tsx';
import { Badge } from '../parts/status.tsx';
import { Text, TextLink } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { DeadSearchBox, readDeadSearch } from './dead-search.tsx';
import type { ViewProps } from './page.ts';

export function DeadGroups({ query }: ViewProps) {
  const search = readDeadSearch(query);
  const { filter, typed, words, backend } = search;
  const [all, setAll] = useState(false);
  const loaded = useLoad<DeadLetterGroups>(
    `dead/groups${queryOf({ ...filter, ...(all && { max: mostCounted }) })}`,
    all ? undefined : 30_000,
  );
  const [bulk, setBulk] = useState<Bulk | null>(null);
  return (
    <>
      <Head title="Dead letters" note="Jobs that will not run again by themselves, grouped by their error.">
        <a class="button" href={linkTo(['letters'], filter)}>
          One by one
        </a>
        <BulkButtons
          what=" all"
          selection={{ filter: typed }}
          words={words}
          backend={backend}
          onAsk={setBulk}
        />
      </Head>
      <DeadSearchBox search={search} path="dead" />
      <Shown loaded={loaded}>
        {({ groups, looked, complete }) => (
          <>
            <p class="note" aria-live="polite">
              {plural(groups.length, 'group')} in {!complete && 'the newest '}
              {plural(looked, 'dead letter')}.{' '}
              {!complete && 'There are older ones, which are not counted here.'}{' '}
              {!complete && !all && (
                <button type="button" onClick={() => setAll(true)}>
                  Count them too
                </button>
              )}
            </p>
            {groups.length === 0 ? (
              <Empty>
                {Object.keys(filter).length === 0
                  ? 'There are no dead letters.'
                  : 'No dead letter is like this.'}
              </Empty>
            ) : (
              <ul class="groups">
                {groups.map((group) => (
                  <li key={group.fingerprint}>
                    <Group
                      group={group}
                      complete={complete}
                      link={linkTo(['letters'], { ...filter, fingerprint: group.fingerprint })}
                    />
                    <div class="actions">
                      <BulkButtons
                        selection={{ filter: { ...typed, fingerprint: group.fingerprint } }}
                        words={`those of ${nameOf(group)} with “${group.error}”`}
                        backend={backend}
                        onAsk={setBulk}
                      />
                    </div>
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

const mostCounted = 100_000;

const nameOf = ({ job }: DeadLetterGroup): string => job || 'no known job';

function Group({ group, complete, link }: { group: DeadLetterGroup; complete: boolean; link: string }) {
  const { reason, error, queues, count: letters, newestId, newestAt, oldestAt } = group;
  const many = complete ? count(letters) : `${count(letters)}+`;
  return (
    <>
      <a class="group-count" href={link} aria-label={`${many} dead letters of ${nameOf(group)}`}>
        {many}
      </a>
      <div class="group-text">
        <p class="error-text">
          <TextLink href={link} value={error || 'no error text'} />
        </p>
        <p class="soft">
          <Badge word={reason} tone="bad" /> <Text value={nameOf(group)} /> in{' '}
          <Text value={queues.join(', ')} /> · newest{' '}
          <a href={linkTo(['letter', newestId])}>
            <Ago at={newestAt} />
          </a>
          , oldest <Ago at={oldestAt} />
        </p>
      </div>
    </>
  );
}
