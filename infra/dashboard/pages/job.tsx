import { useEffect, useState } from 'preact/hooks';
import type { JobDetail } from '../../../core/dashboard/api.ts';
import { useAct, useMayAct } from '../data/act.ts';
import { isUnavailable, segment } from '../data/client.ts';
import { count, percent } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import type { JobRecord, Progress, Unavailable } from '../data/shapes.ts';
import { Attempts } from '../parts/attempts.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { type Fact, Facts, Head, Panel, Shown } from '../parts/frame.tsx';
import { PayloadPanel } from '../parts/payload.tsx';
import { Badge } from '../parts/status.tsx';
import { Copy, Json, Message, Text } from '../parts/text.tsx';
import { Ago, Moment } from '../parts/time.tsx';

const isEnded = ({ status }: JobRecord): boolean =>
  ['completed', 'failed', 'cancelled', 'expired'].includes(status);

export function Job({ id }: { id: string }) {
  const [ended, setEnded] = useState(false);
  // A payload may be large, and of a job that has ended there is hardly any news.
  const path = `jobs/${segment(id)}`;
  const loaded = useLoad<JobDetail | Unavailable>(path, ended ? 30_000 : 3_000);
  const { value } = loaded;
  useEffect(() => setEnded(value !== null && !isUnavailable(value) && isEnded(value.record)), [value]);
  return (
    <Shown loaded={loaded}>
      {(detail) => (
        <>
          <Head title={<Text value={detail.record.job} />} note={<Badge word={detail.record.status} />}>
            <Actions detail={detail} onDone={loaded.reload} />
          </Head>
          {detail.record.error !== null && !isEndedWell(detail.record) && (
            <div class="error-text wrapped">
              <Message value={detail.record.error} label="Error" />
            </div>
          )}
          {detail.record.progress !== null && <ProgressBar {...detail.record.progress} />}
          <Panel title="Facts">
            <Facts facts={factsOf(detail)} />
          </Panel>
          <Panel title="Attempts">
            <Attempts attempts={detail.record.attempts} />
          </Panel>
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

const isEndedWell = ({ status }: JobRecord): boolean => status === 'completed';

function Actions({ detail: { record, dead }, onDone }: { detail: JobDetail; onDone: () => void }) {
  const mayAct = useMayAct();
  const [busy, act] = useAct(onDone);
  const [asked, ask] = useState<'cancel' | 'run-again' | null>(null);
  const path = `jobs/${segment(record.id)}`;
  const confirmed = (action: string) => void act(`${path}/${action}`).then(() => ask(null));
  return (
    <>
      {dead && (
        <a class="button" href={linkTo(['letter', record.id])}>
          Its dead letter: mend, retry, discard
        </a>
      )}
      {mayAct && !isEnded(record) && (
        <button type="button" disabled={busy} onClick={() => ask('cancel')}>
          Cancel…
        </button>
      )}
      {mayAct && isEnded(record) && (
        <button type="button" disabled={busy} onClick={() => ask('run-again')}>
          Run again…
        </button>
      )}
      {asked === 'cancel' && (
        <Confirm
          title="Cancel this job?"
          action="Cancel the job"
          dangerous
          busy={busy}
          onClose={() => ask(null)}
          onConfirm={() => confirmed('cancel')}
        >
          <p>If it waits, it never runs. If it runs, its worker is asked to abort it.</p>
        </Confirm>
      )}
      {asked === 'run-again' && (
        <Confirm
          title="Run it again?"
          action="Enqueue it again"
          busy={busy}
          onClose={() => ask(null)}
          onConfirm={() => confirmed('run-again')}
        >
          <p>A new job is enqueued with the same payload. What this one has done is not undone.</p>
        </Confirm>
      )}
    </>
  );
}

function factsOf({ record, runningOn }: JobDetail): readonly Fact[] {
  const text = (value: string | null, mono = false) => value !== null && <Text value={value} mono={mono} />;
  const search = (member: string, value: string | null) =>
    value !== null && (
      <a href={linkTo(['jobs'], { [member]: value })}>
        <Text value={value} />
      </a>
    );
  const facts: readonly Fact[] = [
    [
      'Id',
      <>
        <Text value={record.id} mono /> <Copy value={record.id} label="Copy the id" />
      </>,
    ],
    ['Queue', search('queue', record.queue)],
    ['Name', text(record.name)],
    ['Tenant', search('tenantId', record.tenantId)],
    ['Idempotency key', search('idempotencyKey', record.idempotencyKey)],
    [
      'Schedule',
      record.schedule !== null && (
        <a href={linkTo(['schedules', record.schedule])}>
          <Text value={record.schedule} />
        </a>
      ),
    ],
    ['Priority', String(record.priority)],
    [
      'Enqueued',
      <>
        <Moment at={record.createdAt} /> (<Ago at={record.createdAt} />)
      </>,
    ],
    [
      'Runs',
      isEnded(record) ? null : (
        <>
          <Moment at={record.runAt} /> (<Ago at={record.runAt} />)
        </>
      ),
    ],
    [
      'Ended',
      record.finishedAt !== null && (
        <>
          <Moment at={record.finishedAt} /> (<Ago at={record.finishedAt} />)
        </>
      ),
    ],
    ['Runs now on', search('worker', runningOn)],
    ['Attempts', record.maxAttempts === null ? null : `at most ${record.maxAttempts}`],
    ['Died of', record.reason],
    ['Request', text(record.requestId, true)],
    ['Trace', text(traceOf(record.traceparent), true)],
  ];
  return facts.filter(([, value]) => value !== false && value !== null);
}

/** `00-<trace id>-<span id>-01`. */
const traceOf = (traceparent: string | null): string | null => traceparent?.split('-')[1] ?? traceparent;

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
