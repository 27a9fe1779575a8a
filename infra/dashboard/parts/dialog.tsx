/** The browser's own dialogs, which keep the focus and close with Escape. */

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  /** `true` = only its buttons close it, because work is in progress. */
  readonly locked?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, locked = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    dialog.current?.focus(); // not on a field or button: Enter must not confirm an unread text
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      tabIndex={-1}
      aria-labelledby={id}
      onCancel={(event) => locked && event.preventDefault()}
      // A browser closes a dialog at the second Escape without asking.
      onClose={() => (locked ? dialog.current?.showModal() : onClose())}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
