/** The parts of pages: heads, panels, facts, and placeholders while nothing is loaded. */

import type { ComponentChildren } from 'preact';
import type { OfSeveral } from '../../../core/surfaces/dashboard/api.ts';
import { visibleLine } from '../data/format.ts';
import type { Loaded, Missed } from '../data/load.ts';

interface HeadProps {
  readonly title: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** The head of a page; its children are the actions. */
export function Head({ title, note, children }: HeadProps) {
  return (
    <header class="head">
      <h1 tabIndex={-1}>{title}</h1>
      {note !== undefined && <p class="note">{note}</p>}
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  );
}

export function Panel({
  title,
  children,
  actions,
}: {
  title: string;
  children: ComponentChildren;
  actions?: ComponentChildren;
}) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

export type Fact = readonly [name: string, value: ComponentChildren];

/** Facts without a value are left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** An error that is shown as long as it lasts. */
export function Trouble({ children }: { children: ComponentChildren }) {
  return (
    <p class="trouble" role="alert">
      {children}
    </p>
  );
}

/** Says which backends a list is without. */
export const Missing = ({ missed = [] }: { missed: Missed }) => (
  <>
    {missed.map(({ backend, message }) => (
      <Trouble key={backend}>
        Backend {backend} does not answer, so what it has is missing here: {visibleLine(message)}
      </Trouble>
    ))}
  </>
);

interface ShownProps<T> {
  readonly loaded: Loaded<T>;
  /** Title of the page until its children, which include the head, are loaded. */
  readonly title?: string;
  readonly children: (value: T) => ComponentChildren;
}

/** The loaded data, or the error. Shown data stays when a later load fails. */
export function Shown<T>({ loaded, title, children }: ShownProps<T>) {
  const { value, unavailable, problem, loading, reload } = loaded;
  const isMissing = unavailable !== null || (value === null && problem !== null);
  return (
    <>
      {isMissing && title !== undefined && <Head title={title} />}
      {problem !== null && (
        <Trouble>
          {problem}{' '}
          <button type="button" class="quiet" disabled={loading} onClick={reload}>
            Try again
          </button>
        </Trouble>
      )}
      {value === null && unavailable === null && problem === null && <p class="waiting">Loading…</p>}
      {unavailable !== null && <Empty>{unavailable}</Empty>}
      {value !== null && <Missing missed={(value as OfSeveral).unavailable} />}
      {value !== null && children(value)}
    </>
  );
}
