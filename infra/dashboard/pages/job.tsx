import { useEffect, useState } from 'preact/hooks';
import type { Progress } from '../../../core/contract/outcome.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import type { JobDetail } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { count, percent, traceOf } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { go, linkTo } from '../data/route.ts';
import { Action, AskedAction } from '../parts/action.tsx';
import { Attempts } from '../parts/attempts.tsx';
import { type Fact, Facts, Head, Panel, Shown } from '../parts/frame.tsx';
import { PayloadPanel } from '../parts/payload.tsx';
import { Badge } from '../parts/status.tsx';
import { Steps } from '../parts/steps.tsx';
import { StoppedTable } from '../parts/stopped-jobs.tsx';
import { Id, Json, Message, Text, TextLink, Wrapped } from '../parts/text.tsx';
import { Ago, MomentAgo } from '../parts/time.tsx';

const waits = ({ status }: JobRecord): boolean => status === 'pending' || status === 'retrying';
const isEnded = ({ status }: JobRecord): boolean =>
  ['completed', 'failed', 'cancelled', 'expired'].includes(status);

export function Job({ id }: { id: string }) {
  const [ended, setEnded] = useState(false);
  // A job that has ended hardly changes.
  const path = `jobs/${encodeURIComponent(id)}`;
  const loaded = useLoad<JobDetail>(path, ended ? 30_000 : 3_000);
  const { value } = loaded;
  useEffect(() => setEnded(value !== null && isEnded(value.record)), [value]);
  return (
    <Shown loaded={loaded} title="Job">
      {(detail) => (
        <>
          <Head title={<Text value={detail.record.job} />} note={<Badge word={detail.record.status} />}>
            <Actions detail={detail} onDone={loaded.reload} />
          </Head>
          {detail.record.error !== null && detail.record.status !== 'completed' && (
            <div class="error-text wrapped">
              <Message value={detail.record.error} label="Error" />
            </div>
          )}
          {detail.record.progress !== null && <ProgressBar {...detail.record.progress} />}
          {detail.stopped.length > 0 && (
            <Panel title="Its jobs are stopped">
              <StoppedTable stopped={detail.stopped} onDone={loaded.reload} />
            </Panel>
          )}
          <Panel title="Facts">
            <Facts facts={factsOf(detail)} />
          </Panel>
          <Panel title="Attempts">
            <Attempts attempts={detail.record.attempts} />
          </Panel>
          {(detail.steps.length > 0 || detail.stepsProblem !== null) && (
            <Panel title="Steps">
              {detail.stepsProblem !== null && <p class="error-text wrapped">{detail.stepsProblem}</p>}
              <Steps steps={detail.steps} />
            </Panel>
          )}
          <PayloadPanel path={path} payload={detail.payload} />
          {detail.record.output !== null && detail.record.output !== undefined && (
            <Panel title="Output">
              <Json value={detail.record.output} label="Output" />
            </Panel>
          )}
        </>
      )}
    </Shown>
  );
}

function Actions({
  detail: { record, dead, changeable },
  onDone,
}: {
  detail: JobDetail;
  onDone: () => void;
}) {
  const mayAct = useMayAct();
  const path = `jobs/${encodeURIComponent(record.id)}`;
  return (
    <>
      {dead && (
        <a class="button" href={linkTo(['letter', record.id])}>
          Its dead letter: mend, retry, discard
        </a>
      )}
      {mayAct && changeable && waits(record) && (
        <>
          <Action label="Run now" path={`${path}/promote`} onDone={onDone} />
          <AskedAction
            label="Remove"
            path={`${path}/remove`}
            question="Remove this job?"
            answer="Remove the job"
            dangerous
            onDone={() => go(linkTo(['jobs']))}
          >
            <p>It never runs, and its record is gone. To keep the record, cancel the job.</p>
          </AskedAction>
        </>
      )}
      {mayAct && !isEnded(record) && (
        <AskedAction
          label="Cancel"
          path={`${path}/cancel`}
          question="Cancel this job?"
          answer="Cancel the job"
          dangerous
          onDone={onDone}
        >
          <p>If it waits, it never runs. If it runs, its worker is asked to abort it.</p>
        </AskedAction>
      )}
      {mayAct && isEnded(record) && (
        <AskedAction
          label="Run again"
          path={`${path}/run-again`}
          question="Run it again?"
          answer="Enqueue it again"
          onDone={onDone}
        >
          <p>A new job is enqueued with the same payload. What this one has done is not undone.</p>
        </AskedAction>
      )}
    </>
  );
}

function factsOf({ record, runningOn, waits, batch }: JobDetail): readonly Fact[] {
  const search = (member: string, value: string | null) =>
    value && <TextLink href={linkTo(['jobs'], { [member]: value })} value={value} />;
  const { name, schedule, maxAttempts, requestId, traceparent } = record;
  return [
    ['Id', <Id value={record.id} />],
    ['Queue', search('queue', record.queue)],
    ['Name', name && <Text value={name} />],
    ['Tenant', search('tenantId', record.tenantId)],
    ['Idempotency key', search('idempotencyKey', record.idempotencyKey)],
    ['Schedule', schedule && <TextLink href={linkTo(['schedules', schedule])} value={schedule} />],
    // The chain shows the batch of its links.
    ['Batch', batch && !record.chain && <BatchRole {...batch} />],
    ['Chain', record.chain && <ChainRole {...record.chain} />],
    ['Priority', String(record.priority)],
    ['Enqueued', <MomentAgo at={record.createdAt} />],
    ['Due', !isEnded(record) && <MomentAgo at={record.runAt} />],
    ['Waits', waits.length > 0 && <Waits whys={waits} />],
    ['Ended', record.finishedAt !== null && <MomentAgo at={record.finishedAt} />],
    ['Runs now on', search('worker', runningOn)],
    ['Attempts', maxAttempts !== null && `at most ${maxAttempts}`],
    ['Died of', record.reason],
    ['Request', requestId && <Text value={requestId} mono />],
    ['Trace', traceparent && <Text value={traceOf(traceparent)} mono />],
  ];
}

function BatchRole(role: NonNullable<JobDetail['batch']>) {
  return (
    <>
      {'end' in role ? 'called at the end of ' : `child ${count(role.number)} of `}
      <TextLink href={linkTo(['batches', role.batch])} value={role.name ?? role.batch} />
      {'end' in role && ` (${role.end})`}
    </>
  );
}

function ChainRole({ id, link, links }: NonNullable<JobRecord['chain']>) {
  const next = links[link];
  return (
    <>
      link {link} of {links.length} of <TextLink href={linkTo(['chains', id])} value={id} mono />
      {next !== undefined && (
        <>
          , next: <Text value={[next].flat().join(' and ')} />
        </>
      )}
    </>
  );
}

const Waits = ({ whys }: { whys: readonly string[] }) => (
  <ul>
    {whys.map((why) => (
      <li key={why}>
        <Wrapped value={why} />
      </li>
    ))}
  </ul>
);

function ProgressBar({ done, total, message, at }: Progress) {
  const share = total === null || total === 0 ? null : Math.min(1, done / total);
  return (
    <div class="progress">
      <progress aria-label="Progress" max={1} {...(share !== null && { value: share })} />
      <span>
        {count(done)}
        {total !== null && ` of ${count(total)}`}
        {share !== null && ` (${percent(share)})`}
      </span>
      {message !== null && <Text value={message} />}
      <span class="soft">
        <Ago at={at} />
      </span>
    </div>
  );
}
