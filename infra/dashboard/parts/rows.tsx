/** A long list of rows of equal height; only visible rows exist in the page. Loads more before its end is reached. */

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { onKeys } from '../data/keys.ts';
import { type NamedColumn, type Tabular, wholeKeyOf, withBackend } from './table.tsx';

export interface RowColumn<T> extends NamedColumn<T> {
  /** A part of the width, as in `grid-template-columns`. */
  readonly width: string;
  /** Names the row: on a narrow screen it has most of the first line. */
  readonly main?: true;
}

export interface RowsProps<T> extends Tabular<T, RowColumn<T>> {
  readonly more: boolean;
  readonly loading: boolean;
  readonly onNearEnd: () => void;
  /** The last line of the list. */
  readonly end: ComponentChildren;
}

/** Rows beyond the visible ones. */
const spareRows = 12;
const narrow = matchMedia('(max-width: 760px)');
const rowHeight = (): number => (narrow.matches ? 112 : 34);

function useSeen(box: { current: HTMLElement | null }, rowsCount: number) {
  const [seen, setSeen] = useState({ from: 0, to: 60, height: rowHeight() });
  useLayoutEffect(() => {
    const look = (): void => {
      const { current } = box;
      if (current === null) return;
      const height = rowHeight();
      // In steps of several rows, so that it is drawn less often than the list scrolls.
      const first = Math.floor(current.scrollTop / height / spareRows) * spareRows;
      const from = Math.max(0, first - spareRows);
      const to = first + Math.ceil(current.clientHeight / height) + 2 * spareRows;
      setSeen((old) =>
        old.from === from && old.to === to && old.height === height ? old : { from, to, height },
      );
    };
    look();
    const { current } = box;
    const sizes = new ResizeObserver(look);
    if (current) sizes.observe(current);
    current?.addEventListener('scroll', look, { passive: true });
    narrow.addEventListener('change', look);
    return () => {
      sizes.disconnect();
      current?.removeEventListener('scroll', look);
      narrow.removeEventListener('change', look);
    };
  }, [rowsCount === 0]);
  return seen;
}

export function Rows<T>(props: RowsProps<T>) {
  const { caption, rows, keyOf, more, loading, onNearEnd, end } = props;
  const main = props.columns.findIndex((column) => column.main);
  const columns = withBackend(props.columns, rows, { width: 'minmax(5rem, .5fr)' }, main);
  const box = useRef<HTMLElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  /** The active row of the keyboard; the focus follows it. */
  const active = useRef(-1);
  const { from, to, height } = useSeen(box, rows.length);
  const shown = rows.slice(from, to);

  useEffect(() => {
    if (more && !loading && to >= rows.length - spareRows) onNearEnd();
  }, [to, rows.length, more, loading]);

  function focusRow(index: number): void {
    const { current } = box;
    if (current === null || rows.length === 0) return;
    active.current = Math.max(0, Math.min(rows.length - 1, index));
    const top = active.current * height;
    const head = headHeight(current);
    if (top < current.scrollTop) current.scrollTop = top;
    else if (top + height + head > current.scrollTop + current.clientHeight)
      current.scrollTop = top + height + head - current.clientHeight;
    // The row may have to be drawn first.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const row = body.current?.querySelector(`[aria-rowindex="${active.current + 2}"]`);
        row?.querySelector<HTMLElement>('a')?.focus({ preventScroll: true });
      }),
    );
  }
  const focusRef = useRef(focusRow);
  focusRef.current = focusRow;
  useEffect(
    () =>
      onKeys({
        j: () => focusRef.current(active.current + 1),
        ArrowDown: () => focusRef.current(active.current + 1),
        k: () => focusRef.current(active.current - 1),
        ArrowUp: () => focusRef.current(active.current - 1),
      }),
    [],
  );

  const template = columns.map(({ width }) => width).join(' ');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <section class="rows" aria-label={caption} tabIndex={0} ref={box}>
      <table aria-rowcount={more ? -1 : rows.length + 1}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr aria-rowindex={1} style={{ gridTemplateColumns: template }}>
            {columns.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} style={{ height: `${rows.length * height}px` }}>
          {shown.map((row, i) => (
            <tr
              key={wholeKeyOf(keyOf)(row)}
              aria-rowindex={from + i + 2}
              style={{
                gridTemplateColumns: template,
                height: `${height}px`,
                top: `${(from + i) * height}px`,
              }}
              onFocusCapture={() => {
                active.current = from + i;
              }}
            >
              {columns.map(({ name, main, of }) => (
                <td key={name} class={main && 'main'}>
                  {of(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="rows-end">{end}</div>
    </section>
  );
}

const headHeight = (box: HTMLElement): number => box.querySelector('thead')?.clientHeight ?? 0;
