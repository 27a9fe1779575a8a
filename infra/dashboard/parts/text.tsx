/** Shows texts of jobs: always as text, on their own as to the direction of writing, with nothing in them that cannot be seen. */

import { useState } from 'preact/hooks';
import { count, visible, visibleLine } from '../data/format.ts';

/** A name, an id, an error: on one line, cut by the width that it has. */
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

/** In full, on as many lines as it takes. */
export const Wrapped = ({ value }: { value: string }) => (
  <span class="wrapped">
    <Text value={value} />
  </span>
);

/** A text of a few lines, in full: one that is longer gets a box of its own. */
export function Message({ value, label }: { value: string; label: string }) {
  return value.length > mostOfLine ? <LongText value={value} label={label} /> : <Text value={value} />;
}

/** No line that is cut by its width shows more. */
const mostOfLine = 600;
const mostAtFirst = 20_000;
/** A browser lays out pieces that are not seen when they are. */
const pieceLength = 20_000;

/** A payload, a stack: with its lines, and in full only when somebody wants that. */
export function LongText({ value, label }: { value: string; label: string }) {
  const [all, setAll] = useState(false);
  const isLong = value.length > mostAtFirst;
  const text = isLong && !all ? value.slice(0, mostAtFirst) : value;
  const pieces = Array.from({ length: Math.ceil(text.length / pieceLength) }, (_, i) =>
    text.slice(i * pieceLength, (i + 1) * pieceLength),
  );
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
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
