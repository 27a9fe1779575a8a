/** Tables of several backends as one of each kind, with a column that says which row is of which. */

import type { Column, Ui, Under } from './ui.ts';

interface Given {
  readonly backend: string;
  readonly columns: readonly Column<unknown>[];
  readonly under: Under<unknown> | undefined;
}

interface Row {
  readonly of: Given;
  readonly row: unknown;
}

/** Tables of one kind have the same titles. */
const kindOf = ({ columns }: Given): string => columns.map(({ title }) => title).join('\n');

/** Stands where a table would; no text of a command has it. */
const place = '\u0000';

export function joinTables(ui: Ui) {
  const kinds = new Map<string, Row[]>();
  return {
    /** Its tables are kept for the joined one. */
    uiOf: (backend: string): Ui => ({
      ...ui,
      table(own, columns, under) {
        const of = { backend, columns, under } as unknown as Given;
        const rows = kinds.get(kindOf(of)) ?? [];
        kinds.set(kindOf(of), rows);
        for (const row of own) rows.push({ of, row });
        return place;
      },
    }),
    withoutTable: (text: string): string => text.replaceAll(place, '').trim(),
    /** Empty where no command had one. */
    tables: (): string => [...kinds.values()].map(joined).filter(Boolean).join('\n\n'),
  };

  function joined(rows: readonly Row[]): string {
    const first = rows[0]?.of;
    if (!first) return '';
    const columns = first.columns.map((column, i): Column<Row> => {
      const own = ({ of }: Row) => of.columns[i]!;
      return {
        ...column,
        value: (row) => own(row).value(row.row),
        style: (row) => own(row).style?.(row.row) ?? null,
      };
    });
    const under: Under<Row> | undefined = first.under && {
      ...first.under,
      text: ({ of, row }) => of.under?.text(row) ?? null,
      style: ({ of, row }) => of.under?.style?.(row) ?? null,
    };
    return ui.table(rows, [{ title: 'backend', value: ({ of }) => of.backend }, ...columns], under);
  }
}
