/** A short table. On a narrow screen each row is a card, and each cell has a label. */

import type { ComponentChildren } from 'preact';
import type { OfOne } from '../../../core/surfaces/dashboard/api.ts';
import { Empty } from './frame.tsx';
import { Text } from './text.tsx';

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

const backendOf = (row: unknown): string => (row as OfOne<object>).backend ?? '';

/** Rows of several backends may have the same key. */
export const wholeKeyOf =
  <T,>(keyOf: (row: T) => string) =>
  (row: T): string =>
    `${backendOf(row)} ${keyOf(row)}`;

/** With a column for the backend behind the one that names the row, if the rows have one. */
export function withBackend<T, OneColumn extends NamedColumn<T>>(
  columns: readonly OneColumn[],
  rows: readonly T[],
  column: Omit<OneColumn, 'name' | 'of'>,
  behind: number,
): readonly OneColumn[] {
  if (!rows.some((row) => backendOf(row) !== '')) return columns;
  const added = { ...column, name: 'Backend', of: (row: T) => <Text value={backendOf(row)} /> };
  return columns.toSpliced(behind + 1, 0, added as unknown as OneColumn);
}

export function Table<T>({ caption, columns: own, rows, keyOf, empty }: TableProps<T>) {
  const columns = withBackend(own, rows, {}, 0);
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
            <tr key={wholeKeyOf(keyOf)(row)}>
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
