import { describe, expect, it } from 'vitest';
import { columnsOf, createUi, fitted, number, plain, short } from '../../../local/cli/output/ui.ts';

const id = '0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
const row = { id, job: 'j'.repeat(128), error: `no such address, ${'and so on '.repeat(30)}` };
const columns = [
  { title: 'id', value: (one: typeof row) => one.id, whole: true },
  { title: 'job', value: (one: typeof row) => one.job },
  { title: 'error', value: (one: typeof row) => one.error },
] as const;
const at = (width: number | null) => createUi({ colour: false, columns: width });
const lineOf = (width: number | null): string => at(width).table([row], columns).split('\n')[1]!;

describe('a table on a terminal', () => {
  it('cuts the last column to what is left of a line', () => {
    expect(columnsOf(lineOf(200))).toBeLessThanOrEqual(200);
    expect(lineOf(200)).toContain(row.job);
  });

  it('cuts long names where they would leave nothing of a line, but no id', () => {
    expect(lineOf(80)).toBe(`${id}  ${'j'.repeat(31)}…  no such…`);
    expect(lineOf(null)).toContain(row.error.trim());
  });

  it.each([
    ['long', 'x'.repeat(500), ['x'.repeat(500)]],
    ['Chinese', '发送邮件'.repeat(100), ['发']],
    ['Hebrew', 'שלח דואר '.repeat(60), ['ש']],
    ['marked', `e\u0301${'o\u0308'.repeat(500)}`, ['e\u0301']],
    ['joined', '👩‍👩‍👧'.repeat(200), ['👩‍👩‍👧']],
    ['hostile', `\u001b[31m\u202e\u0000${'y\r\n'.repeat(200)}`, ['y']],
  ])('fits into 40, 80 and 200 columns with %s names', (_, text, [begins]) => {
    for (const width of [40, 80, 200]) {
      const under = { text: () => text };
      const table = at(width).table(
        [{ text }],
        [{ title: 'a', value: (one) => one.text }, ...twoNames],
        under,
      );
      const lines = table.split('\n');
      expect(lines).toHaveLength(3);
      for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(width);
      expect(lines[1]).toContain(begins!.slice(0, 6));
      for (const mark of ['\u001b', '\u202e', '\u0000', '\r']) expect(table).not.toContain(mark);
      expect(table.isWellFormed()).toBe(true);
    }
  });

  it('puts columns under each other, however wide their letters are', () => {
    const rows = ['ab', '邮件', '👍', 'e\u0301'].map((text) => ({ text }));
    const [, ...lines] = at(80)
      .table(rows, [
        { title: 'a', value: (one) => one.text },
        { title: 'b', value: () => '|' },
      ])
      .split('\n');
    expect(lines.map((line) => columnsOf(line.slice(0, line.indexOf('|'))))).toEqual([6, 6, 6, 6]);
  });

  it('leaves a column out that needs more room', () => {
    const table = (width: number | null) =>
      at(width).table([row], [columns[0], { title: 'seldom', value: () => 'x', least: 100 }]);
    expect(table(99)).not.toContain('seldom');
    for (const width of [100, null]) expect(table(width)).toContain('seldom');
  });

  it('goes on in further lines under a row with what says what to do', () => {
    const advice = { text: () => 'Correct the handler and retry. '.repeat(5), whole: true } as const;
    const [, , ...lines] = at(40).table([row], [columns[0]], advice).split('\n');
    expect(lines.map((line) => line.trim()).join(' ')).toBe(
      'Correct the handler and retry. '.repeat(5).trim(),
    );
    for (const line of lines) expect(line).toMatch(/^ {4}\S.{0,35}$/);
  });
});

const twoNames = ['b', 'c'].map((title) => ({ title, value: ({ text }: { text: string }) => text }));

describe('facts on a terminal', () => {
  it('go on under themselves, and keep what is copied whole', () => {
    const lines = at(40)
      .facts([
        ['error', 'no such address, and so on and so on'],
        ['id', `${id}${id}`],
      ])
      .split('\n');
    expect(lines).toEqual(['error  no such address, and so on and so', '       on', `id     ${id}${id}`]);
  });
});

it.each([
  [999, '999', '999'],
  [5_000, '5,000', '5,000'],
  [9_999.7, '10,000', '10k'],
  [1_234_567, '1,234,567', '1.2M'],
])('writes %s with separators, or in five characters', (value, whole, brief) => {
  expect(number(value)).toBe(whole);
  expect(short(value)).toBe(brief);
});

it('leaves nothing of a text that moves a cursor, changes a colour or turns text round', () => {
  const marks = [
    '\u061c',
    '\u200b',
    '\u200e',
    '\u200f',
    '\u202a',
    '\u202e',
    '\u2066',
    '\u2069',
    '\ufeff',
    '\u2028',
    '\u0085',
  ];
  for (const mark of ['\u001b[2J', '\u001b]0;title\u0007', '\u009b31m', '\r\n', '\u0000', ...marks])
    expect(plain(`a${mark}b`), JSON.stringify(mark)).toMatch(/^a ?b$/);
});

describe('a text on a terminal', () => {
  it('has its sentences broken between words, and its tables as they are', () => {
    const sentence = 'There are older ones: look at more with --look';
    const line = `${'a'.repeat(30)}  ${'b'.repeat(30)}`;
    expect(fitted(`${line}\n\n${sentence}`, 40)).toBe(
      `${line}\n\nThere are older ones: look at more with\n--look`,
    );
    expect(fitted(sentence, null)).toBe(sentence);
    expect(fitted(`\u001b[31m${sentence}`, 40)).toBe(`\u001b[31m${sentence}`);
  });
});
