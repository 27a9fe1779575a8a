/** The payload of a job. A large one is loaded on request. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { StoredPayload } from '../../../core/kit/records/payload.ts';
import type { Unavailable } from '../../../core/surfaces/dashboard/api.ts';
import { useBusy } from '../data/act.ts';
import { ask, isUnavailable } from '../data/client.ts';
import { bytes } from '../data/format.ts';
import { Empty, Panel } from './frame.tsx';
import { Json, Text } from './text.tsx';

type Sent = StoredPayload | Unavailable;

interface PayloadProps {
  /** The path of the response that contains it. */
  readonly path: string;
  readonly payload: Sent;
  /** Draws an editor of it; without this it cannot be edited. */
  readonly editor?: ((value: unknown, close: () => void) => ComponentChildren) | undefined;
  /** A further remark. */
  readonly children?: ComponentChildren;
}

export function PayloadPanel({ path, payload: sent, editor, children }: PayloadProps) {
  const [whole, setWhole] = useState<Sent | null>(null);
  const [busy, run] = useBusy();
  const [editing, edit] = useState(false);
  const payload = whole ?? sent;
  async function loadWhole(): Promise<void> {
    setWhole((await ask<{ readonly payload: Sent }>(`${path}?whole=true`)).payload);
  }
  const isThere = !isUnavailable(payload);
  return (
    <Panel
      title="Payload"
      actions={
        isThere
          ? editor &&
            !editing && (
              <button type="button" onClick={() => edit(true)}>
                Edit
              </button>
            )
          : payload.characters !== undefined && (
              <button type="button" disabled={busy} onClick={() => void run(loadWhole)}>
                Load it whole
              </button>
            )
      }
    >
      {editor && editing && isThere ? (
        editor(payload.value, () => edit(false))
      ) : (
        <Payload payload={payload} />
      )}
      {children}
    </Panel>
  );
}

function Payload({ payload }: { payload: Sent }) {
  if (isUnavailable(payload)) return <Empty>{payload.unavailable}</Empty>;
  const { value, offloaded } = payload;
  return (
    <>
      {offloaded !== null && (
        <Empty>
          It was too large for the queue ({bytes(offloaded.bytes)}): the payload store has it as{' '}
          <Text value={offloaded.key} mono />.
        </Empty>
      )}
      {(offloaded === null || value !== null) && <Json value={value} label="Payload" />}
    </>
  );
}
