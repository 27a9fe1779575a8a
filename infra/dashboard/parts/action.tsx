/** Buttons that change something, at once or after a confirmation. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAct } from '../data/act.ts';
import { Dialog } from './dialog.tsx';
import { isSure, TypedCount } from './typed-count.tsx';

interface ActionProps {
  readonly label: string;
  /** The path on the server. */
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

interface PauseProps extends Pick<ActionProps, 'path' | 'onDone'> {
  readonly paused: boolean;
  /** With the backend of the row, if there are several. */
  readonly query?: string;
}

/** `path`: of a queue or a schedule */
export function Pause({ path, query = '', paused, onDone }: PauseProps) {
  return (
    <Action
      label={paused ? 'Resume' : 'Pause'}
      path={`${path}/${paused ? 'resume' : 'pause'}${query}`}
      onDone={onDone}
    />
  );
}

interface AskedActionProps extends ActionProps {
  /** Body of the request. */
  readonly body?: unknown;
  readonly question: string;
  /** The label of its button. */
  readonly answer: string;
  /** How many jobs it changes. If there are many, the user types the number. */
  readonly concerns?: number;
  readonly dangerous?: boolean;
  /** The consequence, for the user. */
  readonly children: ComponentChildren;
}

export function AskedAction(props: AskedActionProps) {
  const { label, disabled = false, onDone } = props;
  /** The props at the time of the question: numbers must not change while the user types them. */
  const [asked, ask] = useState<AskedActionProps | null>(null);
  const [busy, act] = useAct(onDone);
  return (
    <>
      <button type="button" disabled={busy || disabled} onClick={() => ask(props)}>
        {label}…
      </button>
      {asked && <Question {...asked} busy={busy} act={act} onClose={() => ask(null)} />}
    </>
  );
}

interface QuestionProps extends AskedActionProps {
  readonly busy: boolean;
  readonly act: (path: string, body?: unknown) => Promise<void>;
  readonly onClose: () => void;
}

function Question(props: QuestionProps) {
  const {
    path,
    body,
    question,
    answer,
    concerns = 1,
    dangerous = false,
    busy,
    act,
    onClose,
    children,
  } = props;
  const [typed, type] = useState('');
  return (
    <Dialog title={question} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void act(path, body).then(onClose);
        }}
      >
        <div class="dialog-text">{children}</div>
        <footer>
          <TypedCount count={concerns} value={typed} onValue={type} />
          <button type="button" onClick={onClose}>
            Keep everything as it is
          </button>
          <button
            type="submit"
            class={dangerous ? 'danger' : 'primary'}
            disabled={busy || !isSure(concerns, typed)}
          >
            {answer}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
