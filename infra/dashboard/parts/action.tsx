/** Buttons that change something, at once or after a question. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAct } from '../data/act.ts';
import { Dialog } from './dialog.tsx';

interface ActionProps {
  readonly label: string;
  /** Of the server. */
  readonly path: string;
  readonly disabled?: boolean;
  readonly onDone: () => void;
}

export function Action({ label, path, onDone }: ActionProps) {
  const [busy, act] = useAct(onDone);
  return (
    <button type="button" disabled={busy} onClick={() => void act(path)}>
      {label}
    </button>
  );
}

/** @param path of a queue or a schedule */
export function Pause({ path, paused, onDone }: { path: string; paused: boolean; onDone: () => void }) {
  return (
    <Action
      label={paused ? 'Resume' : 'Pause'}
      path={`${path}/${paused ? 'resume' : 'pause'}`}
      onDone={onDone}
    />
  );
}

interface AskedActionProps extends ActionProps {
  /** For the server. */
  readonly body?: unknown;
  readonly question: string;
  /** What its button says. */
  readonly answer: string;
  readonly dangerous?: boolean;
  /** What will happen. */
  readonly children: ComponentChildren;
}

export function AskedAction(props: AskedActionProps) {
  const {
    label,
    path,
    body,
    disabled = false,
    onDone,
    question,
    answer,
    dangerous = false,
    children,
  } = props;
  const [asked, ask] = useState(false);
  const [busy, act] = useAct(onDone);
  const close = (): void => ask(false);
  return (
    <>
      <button type="button" disabled={busy || disabled} onClick={() => ask(true)}>
        {label}…
      </button>
      {asked && (
        <Dialog title={question} onClose={close}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void act(path, body).then(close);
            }}
          >
            <div class="dialog-text">{children}</div>
            <footer>
              <button type="button" onClick={close}>
                Keep everything as it is
              </button>
              <button type="submit" class={dangerous ? 'danger' : 'primary'} disabled={busy}>
                {answer}
              </button>
            </footer>
          </form>
        </Dialog>
      )}
    </>
  );
}
