import { useState } from 'preact/hooks';
import type { DeadLetterView } from '../../../core/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { segment } from '../data/client.ts';
import { bytes } from '../data/format.ts';
import { useLoad } from '../data/load.ts';
import { go, linkTo } from '../data/route.ts';
import type { Unavailable } from '../data/shapes.ts';
import { Attempts } from '../parts/attempts.tsx';
import { BulkDialog } from '../parts/bulk-dialog.tsx';
import { Empty, type Fact, Facts, Head, Panel, Shown } from '../parts/frame.tsx';
import { PayloadPanel } from '../parts/payload.tsx';
import { Badge } from '../parts/status.tsx';
import { Copy, Message, Text } from '../parts/text.tsx';
import { Ago, Moment } from '../parts/time.tsx';
import { Editor } from './dead-editor.tsx';
import type { ViewProps } from './page.ts';

export function DeadLetterPage({ path: [id = ''] }: ViewProps) {
  const path = `dead/${segment(id)}`;
  const loaded = useLoad<DeadLetterView | Unavailable>(path);
  const [action, setAction] = useState<'retry' | 'discard' | null>(null);
  const [done, setDone] = useState(false);
  const mayAct = useMayAct();
  function close(): void {
    setAction(null);
    if (done) go(linkTo(['jobs', id]));
  }
  return (
    <Shown loaded={loaded}>
      {(detail) => (
        <>
          <Head
            title={<Text value={detail.letter.job || 'no known job'} />}
            note={<Badge word={detail.letter.reason} tone="bad" />}
          >
            <a class="button" href={linkTo(['jobs', id])}>
              The job
            </a>
            {mayAct && (
              <>
                <button type="button" onClick={() => setAction('retry')}>
                  Retry…
                </button>
                <button type="button" onClick={() => setAction('discard')}>
                  Discard…
                </button>
              </>
            )}
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
                    <Editor id={id} payload={value} expired={detail.expired} onClose={close} />
                  )
                : undefined
            }
          >
            {detail.editable !== true && <Empty>It cannot be edited here: {detail.editable}</Empty>}
          </PayloadPanel>
          <Panel title="Attempts">
            <Attempts attempts={detail.attempts} />
          </Panel>
          {action !== null && (
            <BulkDialog
              action={action}
              selection={{ ids: [id] }}
              words={`${detail.letter.job || 'no known job'} ${id}`}
              onClose={close}
              onDone={() => setDone(true)}
            />
          )}
        </>
      )}
    </Shown>
  );
}

function factsOf({ letter, envelope }: DeadLetterView): readonly Fact[] {
  const facts: readonly Fact[] = [
    [
      'Id',
      <>
        <Text value={letter.id} mono /> <Copy value={letter.id} label="Copy the id" />
      </>,
    ],
    ['Queue', <Text value={letter.queue} />],
    [
      'Died',
      <>
        <Moment at={letter.diedAt} /> (<Ago at={letter.diedAt} />)
      </>,
    ],
    ['Attempts', String(letter.attempt)],
    ['Size', bytes(letter.bytes)],
    [
      'Group',
      <a href={linkTo(['letters'], { fingerprint: letter.fingerprint })}>
        <Text value={letter.fingerprint} mono />
      </a>,
    ],
    ['Tenant', letter.tenantId !== null && <Text value={letter.tenantId} />],
    [
      'Signature',
      envelope === null
        ? 'does not verify here: nothing of its text is shown'
        : `verifies${envelope.kid === null ? '' : `, key ${envelope.kid}`}`,
    ],
  ];
  const signed: readonly Fact[] =
    envelope === null
      ? []
      : [
          ['Enqueued', <Moment at={envelope.issuedAt} />],
          [
            'Expires',
            envelope.expiresAt === null ? (
              'never'
            ) : (
              <>
                <Moment at={envelope.expiresAt} /> (<Ago at={envelope.expiresAt} />)
              </>
            ),
          ],
          ['Priority', String(envelope.priority)],
          ['Retries', `at most ${envelope.maxRetries}`],
          ['Idempotency key', envelope.idempotencyKey !== null && <Text value={envelope.idempotencyKey} />],
          ['Actor', envelope.context?.actorId !== undefined && <Text value={envelope.context.actorId} />],
          [
            'Request',
            envelope.context?.requestId !== undefined && <Text value={envelope.context.requestId} mono />,
          ],
          [
            'Trace',
            envelope.context?.traceparent !== undefined && (
              <Text value={envelope.context.traceparent.split('-')[1] ?? ''} mono />
            ),
          ],
        ];
  return [...facts, ...signed].filter(([, value]) => value !== false);
}
