/** Tables, colours and units of the text output. Not used with `--json`. */

import { stripVTControlCharacters, styleText } from 'node:util';

export { span } from '../../../core/base/duration.ts';

export type Style = Parameters<typeof styleText>[0];

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: 'right';
  /** Never cut, so that the user can copy an id. */
  readonly whole?: true;
  /** The column is left out on a terminal that is narrower than this. */
  readonly least?: number;
  /** A style for the whole cell, depending on the row. */
  readonly style?: (row: Row) => Style | null;
}

/** A line under a row. */
export interface Under<Row> {
  /** `null` = no line. */
  readonly text: (row: Row) => string | null;
  readonly style?: (row: Row) => Style | null;
  /** Wrapped instead of cut, because the text says what to do. */
  readonly whole?: true;
}

/** A name is cut to no less than this many characters. */
const leastName = 8;

export type Ui = ReturnType<typeof createUi>;

export function createUi(options: { colour: boolean; columns: number | null }) {
  const { columns: width } = options;
  const paint = (style: Style, text: string): string =>
    options.colour ? styleText(style, text, { validateStream: false }) : text;

  /** One line per row, under dim titles. On a terminal the longest names are cut until a line fits. */
  function table<Row>(rows: readonly Row[], given: readonly Column<Row>[], under?: Under<Row>): string {
    const columns = given.filter(({ least = 0 }) => width === null || width >= least);
    const cells = rows.map((row) => columns.map(({ value }) => plain(value(row)).trim()));
    const widths = columns.map(({ title }, i) =>
      Math.max(columnsOf(title), ...cells.map((line) => columnsOf(line[i]!))),
    );
    if (width !== null) shrink(columns, widths, width);
    const last = columns.length - 1;
    const pad = (text: string, i: number): string => {
      const cut = columns[i]!.whole ? text : cutTo(text, widths[i]!);
      if (columns[i]!.align === 'right') return padTo(cut, widths[i]!, 'left');
      return i === last ? cut : padTo(cut, widths[i]!, 'right');
    };
    const lines = [
      columns
        .map(({ title }, i) => paint('dim', pad(title, i)))
        .join('  ')
        .trimEnd(),
    ];
    for (const [at, row] of rows.entries()) {
      const painted = cells[at]!.map((text, i) => {
        const style = columns[i]!.style?.(row) ?? null;
        return style === null ? pad(text, i) : paint(style, pad(text, i));
      });
      lines.push(painted.join('  ').trimEnd(), ...linesUnder(row, under));
    }
    return lines.join('\n');
  }

  function linesUnder<Row>(row: Row, under: Under<Row> | undefined): string[] {
    const text = under?.text(row) ?? null;
    if (text === null || text === '') return [];
    const shown = plain(text).trim();
    const room = width === null ? Number.POSITIVE_INFINITY : width - 4;
    const lines = under!.whole ? wrapped(shown, room) : [cutTo(shown, room)];
    const style = under!.style?.(row) ?? null;
    return lines.map((line) => `    ${style === null ? line : paint(style, line)}`);
  }

  /** `name   value` lines; `null` values are left out. On a terminal long values are wrapped. */
  function facts(pairs: readonly (readonly [string, string | null])[]): string {
    const shown = pairs.filter((pair): pair is readonly [string, string] => pair[1] !== null);
    const longest = Math.max(0, ...shown.map(([name]) => name.length));
    const room = width === null ? Number.POSITIVE_INFINITY : Math.max(20, width - longest - 2);
    return shown
      .map(([name, value]) => {
        const lines = wrapped(plain(value), room);
        return `${paint('dim', name.padEnd(longest))}  ${lines.join(`\n${' '.repeat(longest + 2)}`)}`;
      })
      .join('\n');
  }

  return { colour: options.colour, columns: width, paint, table, facts };
}

/** Narrows the last column, which has the long texts, then the widest ones, until a line fits. */
function shrink(columns: readonly Column<never>[], widths: number[], width: number): void {
  const last = columns.length - 1;
  const least = (i: number) =>
    columns[i]!.whole ? widths[i]! : Math.max(leastName, columnsOf(columns[i]!.title));
  let over = widths.reduce((sum, one) => sum + one + 2, -2) - width;
  for (; over > 0; over--) {
    const takeable = widths.flatMap((size, i) => (size > least(i) ? [i] : []));
    if (takeable.length === 0) return;
    const longest = takeable.reduce((a, b) => (widths[b]! > widths[a]! ? b : a));
    widths[takeable.includes(last) ? last : longest]!--;
  }
}

/** Removes line breaks, control sequences and direction marks from untrusted text. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters on purpose
  const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;
  return stripVTControlCharacters(text).replace(unsafe, ' ');
}

const thousands = new Intl.NumberFormat('en-US');

/** `5,000` */
export const number = (value: number): string => thousands.format(Math.round(value));

/** A number in at most five characters: `12.5`, `9,400`, `130k`, `2.1M`. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 10) return String(Math.round(value * 10) / 10);
  if (size < 9_999.5) return number(value);
  return size < 999_500 ? `${Math.round(value / 1_000)}k` : `${Math.round(value / 100_000) / 10}M`;
}

/** Kilobytes below 1 MB, otherwise megabytes. */
export const bytes = (size: number): string =>
  size < 1024 ** 2 ? `${Math.round(size / 1024)} KB` : megabytes(size);
export const megabytes = (bytes: number): string => `${number(bytes / 1024 ** 2)} MB`;
export const when = (at: number): string => new Date(at).toISOString();
export const count = (n: number, word: string): string => `${number(n)} ${word}${n === 1 ? '' : 's'}`;

/** Jobs that wait longer than this are late. */
const lateMs = 60_000;
const veryLateMs = 900_000;

/** The style of a waiting time; `null` = not late. */
export const lateness = (ms: number | null | undefined): Style | null =>
  ms == null || ms <= lateMs ? null : ms <= veryLateMs ? 'yellow' : 'red';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const simple = /^[\u0020-\u007e\u00a0-\u02ff]*$/;

const widthOf = (grapheme: string): number => (wide.test(grapheme) ? 2 : /^\p{M}/u.test(grapheme) ? 0 : 1);

/** The width of a text on a terminal. Chinese characters and emoji take two columns, combining marks none. */
export function columnsOf(text: string): number {
  if (simple.test(text)) return text.length;
  let sum = 0;
  for (const { segment } of graphemes.segment(text)) sum += widthOf(segment);
  return sum;
}

/** Cuts a text to this width, with `…` at the cut. */
export function cutTo(text: string, room: number): string {
  if (columnsOf(text) <= room) return text;
  if (room < 1) return '';
  let [kept, left] = ['', room - 1];
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

export const padTo = (text: string, room: number, side: 'left' | 'right'): string => {
  const spaces = ' '.repeat(Math.max(0, room - columnsOf(text)));
  return side === 'left' ? spaces + text : text + spaces;
};

/** Wraps a text between words. A word longer than a line, such as an id, stays whole. @param first width of the first line */
export function wrapped(text: string, room: number, first = room): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/ +/)) {
    if (line !== '' && columnsOf(line) + 1 + columnsOf(word) > (lines.length === 0 ? first : room)) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Wraps long sentences. Lines with columns or colours stay unchanged. @param width `null` = no terminal */
export function fitted(text: string, width: number | null): string {
  if (width === null) return text;
  const isSentence = (line: string): boolean =>
    columnsOf(line) > width && !line.includes('  ') && !line.includes('\u001b');
  return text
    .split('\n')
    .map((line) => (isSentence(line) ? wrapped(line, width).join('\n') : line))
    .join('\n');
}
