/** A short table. On a narrow screen each row is a card, and each cell has a label. */

import type { ComponentChildren } from 'preact';
import { Empty } from './frame.tsx';

export interface NamedColumn<T> {
  readonly name: string;
  readonly of: (row: T) => ComponentChildren;
}

export interface Column<T> extends NamedColumn<T> {
  /** Numbers are aligned to the right. */
  readonly numeric?: boolean;
}

/** Properties of every kind of table. */
export interface Tabular<T, OneColumn extends NamedColumn<T>> {
  readonly caption: string;
  readonly columns: readonly OneColumn[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
}

export interface TableProps<T> extends Tabular<T, Column<T>> {
  /** The text of an empty list. */
  readonly empty: ComponentChildren;
}

export function Table<T>({ caption, columns, rows, keyOf, empty }: TableProps<T>) {
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <section class="table-box" aria-label={caption} tabIndex={0}>
      <table class="table">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, numeric }) => (
              <th key={name} scope="col" class={numeric ? 'numeric' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, numeric, of }) => (
                <td key={name} data-name={name} class={numeric ? 'numeric' : undefined}>
                  {of(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
