import { useState } from 'preact/hooks';
import type { DeadLetterView } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { bytes, traceOf } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { go, linkTo } from '../data/route.ts';
import { Attempts } from '../parts/attempts.tsx';
import { type Bulk, BulkButtons, BulkDialog } from '../parts/bulk-dialog.tsx';
import { Empty, type Fact, Facts, Head, Panel, Shown } from '../parts/frame.tsx';
import { PayloadPanel } from '../parts/payload.tsx';
import { Badge } from '../parts/status.tsx';
import { Id, Message, Text, TextLink } from '../parts/text.tsx';
import { Moment, MomentAgo } from '../parts/time.tsx';
import { Editor } from './dead-editor.tsx';
import type { ViewProps } from './page.ts';

export function DeadLetterPage({ path: [id = ''] }: ViewProps) {
  const path = `dead/${encodeURIComponent(id)}`;
  const loaded = useLoad<DeadLetterView>(path);
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const [done, setDone] = useState(false);
  const mayAct = useMayAct();
  function close(): void {
    setBulk(null);
    if (done) go(linkTo(['jobs', id]));
  }
  return (
    <Shown loaded={loaded} title="Dead letter">
      {(detail) => (
        <>
          <Head
            title={<Text value={detail.letter.job || 'no known job'} />}
            note={<Badge word={detail.letter.reason} tone="bad" />}
          >
            <a class="button" href={linkTo(['jobs', id])}>
              The job
            </a>
            <BulkButtons
              selection={{ ids: [id] }}
              words={`${detail.letter.job || 'no known job'} ${id}`}
              backend={undefined}
              onAsk={setBulk}
            />
          </Head>
          <div class="error-text wrapped">
            <Message value={detail.letter.error} label="Error" />
          </div>
          {detail.expired && (
            <Empty>
              It has expired: retried as it is, it would expire at once. Give it a new expiry when you retry
              or edit it.
            </Empty>
          )}
          <Panel title="Facts">
            <Facts facts={factsOf(detail)} />
          </Panel>
          <PayloadPanel
            path={path}
            payload={detail.payload}
            editor={
              mayAct && detail.editable === true
                ? (value, close) => (
                    <Editor
                      id={id}
                      payload={value}
                      expired={detail.expired}
                      diedAt={detail.letter.diedAt}
                      onClose={close}
                    />
                  )
                : undefined
            }
          >
            {detail.editable !== true && <Empty>It cannot be edited here: {detail.editable}</Empty>}
          </PayloadPanel>
          <Panel title="Attempts">
            <Attempts attempts={detail.attempts} />
          </Panel>
          {bulk !== null && <BulkDialog {...bulk} onClose={close} onDone={() => setDone(true)} />}
        </>
      )}
    </Shown>
  );
}

function factsOf({ letter, envelope }: DeadLetterView): readonly Fact[] {
  const { actorId, requestId, traceparent } = envelope?.context ?? {};
  return [
    ['Id', <Id value={letter.id} />],
    ['Queue', <Text value={letter.queue} />],
    ['Died', <MomentAgo at={letter.diedAt} />],
    ['Attempts', String(letter.attempt)],
    ['Size', bytes(letter.bytes)],
    [
      'Group',
      <TextLink
        href={linkTo(['letters'], { fingerprint: letter.fingerprint })}
        value={letter.fingerprint}
        mono
      />,
    ],
    ['Tenant', letter.tenantId && <Text value={letter.tenantId} />],
    [
      'Signature',
      envelope === null
        ? 'does not verify here: nothing of its text is shown'
        : `verifies${envelope.kid === null ? '' : `, key ${envelope.kid}`}`,
    ],
    ...(envelope === null
      ? []
      : ([
          ['Enqueued', <Moment at={envelope.issuedAt} />],
          ['Expires', envelope.expiresAt === null ? 'never' : <MomentAgo at={envelope.expiresAt} />],
          ['Priority', String(envelope.priority)],
          ['Retries', `at most ${envelope.maxRetries}`],
          ['Idempotency key', envelope.idempotencyKey && <Text value={envelope.idempotencyKey} />],
          ['Actor', actorId && <Text value={actorId} />],
          ['Request', requestId && <Text value={requestId} mono />],
          ['Trace', traceparent && <Text value={traceOf(traceparent)} mono />],
        ] as const)),
  ];
}
