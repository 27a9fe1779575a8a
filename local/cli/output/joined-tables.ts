/** Tables of several backends as one, with a column that says which row is of which. */

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

/** Stands where a table would; no text of a command has it. */
const place = '\u0000';

export function joinTables(ui: Ui) {
  const rows: Row[] = [];
  const given: Given[] = [];
  return {
    /** Its tables are kept for the joined one. */
    uiOf: (backend: string): Ui => ({
      ...ui,
      table(own, columns, under) {
        const of = { backend, columns, under } as unknown as Given;
        given.push(of);
        for (const row of own) rows.push({ of, row });
        return place;
      },
    }),
    withoutTable: (text: string): string => text.replaceAll(place, '').trim(),
    /** Empty where no command had one. */
    table(): string {
      const [first] = given;
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
    },
  };
}
