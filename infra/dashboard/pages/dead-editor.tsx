/** Edits the payload of a dead letter. The server checks it against the schema of the job. */

import { useState } from 'preact/hooks';
import type { Done } from '../../../core/surfaces/dashboard/api.ts';
import { notify } from '../data/act.ts';
import { Problem, send, wordsOf } from '../data/client.ts';
import { go, linkTo } from '../data/route.ts';
import { expiry, expiryIn, NumberField } from '../parts/number-field.tsx';
import { Text } from '../parts/text.tsx';

interface EditorProps {
  readonly id: string;
  readonly payload: unknown;
  readonly expired: boolean;
  /** When the shown dead letter died: a later one of the same job is not overwritten. */
  readonly diedAt: number;
  readonly onClose: () => void;
}

type Finding = { readonly text: string; readonly issues: Problem['issues']; readonly good: boolean };

export function Editor({ id, payload, expired, diedAt, onClose }: EditorProps) {
  const [text, setText] = useState(() => JSON.stringify(payload, null, 2));
  const [hours, setHours] = useState(expired ? '24' : '');
  const [finding, setFinding] = useState<Finding | null>(null);
  const [busy, setBusy] = useState(false);

  async function submit(dryRun: boolean): Promise<void> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      setFinding({ text: `This is not JSON: ${wordsOf(error)}`, issues: [], good: false });
      return;
    }
    setBusy(true);
    try {
      const { message } = await send<Done>(`dead/${encodeURIComponent(id)}/edit`, {
        payload: value,
        diedAt,
        ...expiryIn(hours),
        ...(dryRun && { dryRun }),
      });
      if (dryRun) setFinding({ text: message, issues: [], good: true });
      else {
        notify(message, { jobId: id });
        go(linkTo(['jobs', id]));
      }
    } catch (error) {
      setFinding({ text: wordsOf(error), issues: error instanceof Problem ? error.issues : [], good: false });
    }
    setBusy(false);
  }
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(false);
      }}
    >
      <textarea
        aria-label="Payload, as JSON"
        aria-describedby="finding"
        aria-invalid={finding !== null && !finding.good}
        spellcheck={false}
        autocomplete="off"
        dir="ltr"
        rows={Math.min(24, Math.max(6, text.split('\n', 24).length + 1))}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <p class="soft">A value that reads [masked] stays as it was.</p>
      <div id="finding" class={finding?.good ? 'finding good' : 'finding bad'} aria-live="polite">
        {finding !== null && (
          <>
            <p>
              <Text value={finding.text} />
            </p>
            <ul>
              {finding.issues.map(({ path, message }, i) => (
                <li key={String(i)}>
                  {path && <code>{path}</code>} <Text value={message} />
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
      <footer class="actions">
        <NumberField {...expiry} value={hours} disabled={busy} onValue={setHours} />
        <button type="button" disabled={busy} onClick={onClose}>
          Leave it
        </button>
        <button type="button" disabled={busy} onClick={() => void submit(true)}>
          Check
        </button>
        <button type="submit" class="primary" disabled={busy}>
          Save and retry
        </button>
      </footer>
    </form>
  );
}
