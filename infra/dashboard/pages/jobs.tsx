import { useEffect } from 'preact/hooks';
import type { JobItem, JobList, Session } from '../../../core/surfaces/dashboard/api.ts';
import { session } from '../data/client.ts';
import { count, moment } from '../data/format.ts';
import { usePages, useRefreshAtTop } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { backendField, filterIn, type SearchField } from '../data/search.ts';
import { Head } from '../parts/frame.tsx';
import { PagedRows } from '../parts/paged-rows.tsx';
import type { RowColumn } from '../parts/rows.tsx';
import { SearchBox } from '../parts/search.tsx';
import { Badge } from '../parts/status.tsx';
import { Text, TextLink } from '../parts/text.tsx';
import { Job } from './job.tsx';
import { ownerColumns } from './owner-columns.tsx';
import type { ViewProps } from './page.ts';

const statuses = ['pending', 'processing', 'retrying', 'completed', 'failed', 'cancelled', 'expired'];

const fieldsOf = ({ app, backends }: Session): readonly SearchField[] => [
  { word: 'status', member: 'status', label: 'Status', choices: statuses },
  { word: 'job', member: 'job', label: 'Job', choices: app.jobs },
  { word: 'queue', member: 'queue', label: 'Queue', choices: app.queues },
  ...backendField(backends),
  { word: 'tenant', member: 'tenantId', label: 'Tenant' },
  { word: 'key', member: 'idempotencyKey', label: 'Idempotency key' },
  { word: 'schedule', member: 'schedule', label: 'Schedule', choices: app.schedules },
  { word: 'error', member: 'error', label: 'Piece of the error' },
  { word: 'worker', member: 'worker', label: 'Worker or host' },
  { word: 'from', member: 'createdFrom', label: 'Enqueued from', isMoment: true },
  { word: 'to', member: 'createdBefore', label: 'Enqueued before', isMoment: true },
];

export function Jobs({ path, query }: ViewProps) {
  return path[0] === undefined ? <JobSearch query={query} /> : <Job id={path[0]} />;
}

function JobSearch({ query }: { query: URLSearchParams }) {
  const fields = fieldsOf(session.get()!);
  const filter = filterIn(query, fields, 'idPrefix');
  const loaded = usePages('jobs', filter, ({ jobs }: JobList) => jobs);
  useRefreshAtTop(loaded);
  useEffect(() => {
    if (query.has('search')) document.querySelector<HTMLInputElement>('main input[type=search]')?.focus();
  }, []);
  return (
    <div class="fills">
      <Head title="Jobs">
        <button type="button" disabled={loaded.loading} onClick={loaded.reload}>
          Load again
        </button>
      </Head>
      <SearchBox
        label="Search jobs: the beginning of an id, or filters like status:failed"
        hint="Beginning of an id, status:failed, tenant:…, error:&quot;…&quot;"
        fields={fields}
        alone="idPrefix"
        filter={filter}
        path="jobs"
      />
      <PagedRows
        loaded={loaded}
        what="jobs"
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          Object.keys(filter).length > 0
            ? 'No job is like this.'
            : 'There is no job yet. Enqueue one, and it is listed here.'
        }
      />
    </div>
  );
}

const columns: readonly RowColumn<JobItem>[] = [
  {
    name: 'Status',
    width: '6.5rem',
    // A sleeping job is pending or retrying in its record.
    of: ({ status, sleeps }) =>
      sleeps === null ? <Badge word={status} /> : <Badge word="sleeping" tone="busy" />,
  },
  {
    name: 'Job',
    width: 'minmax(8rem, 1.4fr)',
    main: true,
    of: ({ id, job, name }) => (
      <TextLink href={linkTo(['jobs', id])} value={name === null ? job : `${job}: ${name}`} />
    ),
  },
  { name: 'Id', width: 'minmax(6rem, 1.1fr)', of: ({ id }) => <Text value={id} mono /> },
  ...ownerColumns,
  {
    name: 'Runs',
    width: '4rem',
    of: ({ runs, maxAttempts }) => (maxAttempts === null ? count(runs) : `${runs} of ${maxAttempts}`),
  },
  { name: 'Enqueued', width: '11.5rem', of: ({ createdAt }) => moment(createdAt) },
  {
    name: 'Error',
    width: 'minmax(6rem, 2fr)',
    of: ({ error, progress, sleeps }) =>
      sleeps !== null ? (
        <Text value={sleeps} />
      ) : error !== null ? (
        <Text value={error} />
      ) : (
        progress !== null && <ProgressWords {...progress} />
      ),
  },
];

function ProgressWords({
  done,
  total,
  message,
}: {
  done: number;
  total: number | null;
  message: string | null;
}) {
  const words = total === null ? count(done) : `${count(done)} of ${count(total)}`;
  return <Text value={message === null ? words : `${words}, ${message}`} />;
}
