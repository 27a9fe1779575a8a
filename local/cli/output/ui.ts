/** Tables, colours and units for people. Nothing here is used with `--json`. */

import { stripVTControlCharacters, styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: 'right';
  /** Never cut: an id that is copied, or a text that says what to do. */
  readonly whole?: true;
  /** A style for the whole cell, depending on the row. */
  readonly style?: (row: Row) => Style | null;
}

/** Of a name of a job or a queue, where a line would be too long. */
const longestName = 36;
const leastText = 8;

export type Ui = ReturnType<typeof createUi>;

export function createUi(options: { colour: boolean; columns: number | null }) {
  const { columns: width } = options;
  const paint = (style: Style, text: string): string =>
    options.colour ? styleText(style, text, { validateStream: false }) : text;
  const cutTo = (text: string, room: number): string =>
    text.length > room ? `${text.slice(0, Math.max(0, room - 1))}…` : text;
  return {
    colour: options.colour,
    paint,
    /** Aligned columns under dim titles. On a terminal the last one is cut to what is left of a line, and so are names that leave nothing. */
    table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
      const cells = rows.map((row) => columns.map(({ value }) => plain(value(row))));
      const widths = columns.map(({ title }, i) =>
        Math.max(title.length, ...cells.map((line) => line[i]!.length)),
      );
      if (width !== null) {
        // The last column holds the long texts.
        const last = widths.length - 1;
        const before = () => widths.slice(0, last).reduce((sum, one) => sum + one + 2, 0);
        const limit = (i: number, most: number) => {
          if (!columns[i]!.whole) widths[i] = Math.min(widths[i]!, most);
        };
        if (before() + leastText > width) for (let i = 0; i < last; i++) limit(i, longestName);
        limit(last, Math.max(leastText, width - before()));
      }
      const pad = (text: string, i: number): string => {
        const cut = cutTo(text, widths[i]!);
        if (columns[i]!.align === 'right') return cut.padStart(widths[i]!);
        return i === columns.length - 1 ? cut : cut.padEnd(widths[i]!);
      };
      const head = columns.map(({ title }, i) => paint('dim', pad(title, i))).join('  ');
      const body = cells.map((line, row) =>
        line
          .map((text, i) => {
            const style = columns[i]!.style?.(rows[row]!) ?? null;
            return style === null ? pad(text, i) : paint(style, pad(text, i));
          })
          .join('  '),
      );
      return [head, ...body].map((line) => line.trimEnd()).join('\n');
    },
    /** `name   value` lines; a `null` value leaves its line out. */
    facts(pairs: readonly (readonly [string, string | null])[]): string {
      const shown = pairs.filter((pair): pair is readonly [string, string] => pair[1] !== null);
      const longest = Math.max(0, ...shown.map(([name]) => name.length));
      return shown
        .map(([name, value]) => `${paint('dim', name.padEnd(longest))}  ${plain(value)}`)
        .join('\n');
    },
  };
}

/** One line without anything that moves a cursor, changes a colour or turns text round: it may come from outside. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;
  return stripVTControlCharacters(text).replace(unsafe, ' ');
}

/** `850 ms`, `4.2 s`, `3 min`, `2 h`, `5 d`: two digits are enough to judge by. */
export function span(ms: number): string {
  const sign = ms < 0 ? '-' : '';
  const size = Math.abs(ms);
  if (size < 1000) return `${sign}${Math.round(size)} ms`;
  for (const [unit, length, next] of [
    ['s', 1000, 120_000],
    ['min', 60_000, 7_200_000],
    ['h', 3_600_000, 172_800_000],
  ] as const) {
    if (size < next) return `${sign}${shortened(size / length)} ${unit}`;
  }
  return `${sign}${shortened(size / 86_400_000)} d`;
}

const shortened = (value: number): string =>
  value < 10 ? value.toFixed(1).replace('.0', '') : value.toFixed(0);

/** A number in five characters at most: `12.5`, `9400`, `130k`, `2.1M`. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 10) return String(Math.round(value * 10) / 10);
  if (size < 10_000) return String(Math.round(value));
  return size < 999_500 ? `${Math.round(value / 1_000)}k` : `${Math.round(value / 100_000) / 10}M`;
}

/** Of less than a megabyte it tells kilobytes. */
export const bytes = (size: number): string =>
  size < 1024 ** 2 ? `${Math.round(size / 1024)} KB` : megabytes(size);
export const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MB`;
export const when = (at: number): string => new Date(at).toISOString();
export const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;
