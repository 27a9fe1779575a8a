/** Shows texts of jobs: always as text, isolated in their direction of writing, with invisible characters made visible. */

import { useState } from 'preact/hooks';
import { count, visible, visibleLine } from '../data/format.ts';

/** A name, an id or an error on one line, cut to the available width. */
export function Text({ value, mono = false }: { value: string; mono?: boolean }) {
  const shown = visibleLine(value.slice(0, mostOfLine));
  return (
    <bdi class={mono ? 'text mono' : 'text'} dir="auto" title={value.length > 24 ? shown : undefined}>
      {shown}
      {value.length > mostOfLine && '…'}
    </bdi>
  );
}

export function TextLink({ href, value, mono }: { href: string; value: string; mono?: boolean }) {
  return (
    <a href={href}>
      <Text value={value} mono={mono ?? false} />
    </a>
  );
}

/** The whole text, on several lines. */
export const Wrapped = ({ value }: { value: string }) => (
  <span class="wrapped">
    <Text value={value} />
  </span>
);

/** A text of a few lines in full; a longer one gets its own box. */
export function Message({ value, label }: { value: string; label: string }) {
  return value.length > mostOfLine ? <LongText value={value} label={label} /> : <Text value={value} />;
}

/** More than a line can show. */
const mostOfLine = 600;
const mostAtFirst = 20_000;
/** The text is split into pieces, so that the browser lays out a piece only when it becomes visible. */
const pieceLength = 20_000;

/** A payload or a stack with its lines; in full only on request. */
export function LongText({ value, label }: { value: string; label: string }) {
  const [all, setAll] = useState(false);
  const isLong = value.length > mostAtFirst;
  const text = isLong && !all ? value.slice(0, mostAtFirst) : value;
  const pieces = Array.from({ length: Math.ceil(text.length / pieceLength) }, (_, i) =>
    text.slice(i * pieceLength, (i + 1) * pieceLength),
  );
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard */}
      <section class="long" aria-label={label} tabIndex={0}>
        <pre dir="auto">
          {pieces.map((piece, i) => (
            <span key={String(i)} class="piece">
              {visible(piece)}
            </span>
          ))}
        </pre>
      </section>
      {isLong && (
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Show less' : `Show all ${count(value.length)} characters`}
        </button>
      )}
    </>
  );
}

export function Json({ value, label }: { value: unknown; label: string }) {
  return <LongText value={JSON.stringify(value, null, 2) ?? 'undefined'} label={label} />;
}

/** An id, and a button that copies it. */
export function Id({ value }: { value: string }) {
  const [done, setDone] = useState(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(value);
    setDone(true);
    setTimeout(() => setDone(false), 1_500);
  }
  return (
    <>
      <Text value={value} mono />{' '}
      <button
        type="button"
        class="quiet copy"
        aria-label="Copy the id"
        onClick={() => void copy().catch(() => {})}
      >
        {done ? 'Copied' : 'Copy'}
      </button>
    </>
  );
}
