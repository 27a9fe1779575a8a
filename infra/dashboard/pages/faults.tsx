/** Shows the guarantees on real work: each button breaks something, and says what to watch. */

import { useState } from 'preact/hooks';
import type { FaultInfo, FaultResult } from '../../../core/surfaces/dashboard/api.ts';
import { useBusy } from '../data/act.ts';
import { send, session } from '../data/client.ts';
import { linkTo } from '../data/route.ts';
import { Head } from '../parts/frame.tsx';

export function Faults() {
  return (
    <>
      <Head title="Faults" note="For development: break something, and watch the job recover." />
      <ul class="faults">
        {session.get()!.faults.map((fault) => (
          <li key={fault.name} class="panel">
            <Fault fault={fault} />
          </li>
        ))}
      </ul>
      <p class="note">
        Watch it under <a href={linkTo(['jobs'])}>jobs</a> and <a href={linkTo(['workers'])}>workers</a>.
      </p>
    </>
  );
}

function Fault({ fault: { name, label, text } }: { fault: FaultInfo }) {
  const [busy, run] = useBusy();
  const [said, setSaid] = useState('');
  async function cause(): Promise<void> {
    setSaid('');
    setSaid((await send<FaultResult>(`faults/${encodeURIComponent(name)}`)).message);
  }
  return (
    <>
      <h2>{label}</h2>
      <p>{text}</p>
      <button
        type="button"
        disabled={busy}
        aria-describedby={`fault-${name}`}
        onClick={() => void run(cause)}
      >
        {label}
      </button>
      <p id={`fault-${name}`} class="soft" aria-live="polite">
        {said}
      </p>
    </>
  );
}
