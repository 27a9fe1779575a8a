import { describe, expect, it } from 'vitest';
import { createUi, plain } from '../../../local/cli/output/ui.ts';

const id = '0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b-and-more';
const row = { id, job: 'j'.repeat(128), error: `no such address, ${'and so on '.repeat(30)}` };
const columns = [
  { title: 'id', value: (one: typeof row) => one.id, whole: true },
  { title: 'job', value: (one: typeof row) => one.job },
  { title: 'error', value: (one: typeof row) => one.error },
] as const;
const lineOf = (width: number | null, chosen: Parameters<ReturnType<typeof createUi>['table']>[1]): string =>
  createUi({ colour: false, columns: width })
    .table([row] as never[], chosen)
    .split('\n')[1]!;

describe('a table on a terminal', () => {
  it('cuts the last column to what is left of a line', () => {
    expect(lineOf(200, columns as never)).toHaveLength(200);
    expect(lineOf(200, columns as never)).toContain(row.job);
  });

  it('cuts long names where they would leave nothing of a line, but no id', () => {
    const line = lineOf(80, columns as never);
    expect(line).toBe(`${id}  ${'j'.repeat(35)}…  no such…`);
    expect(lineOf(null, columns as never)).toContain(row.error.trim());
  });

  it('never cuts what says what to do', () => {
    const advice = { title: '', value: (one: typeof row) => one.error, whole: true } as const;
    expect(lineOf(80, [columns[1], advice] as never)).toContain(row.error.trim());
  });
});

it('leaves nothing of a text that moves a cursor, changes a colour or turns text round', () => {
  const marks = ['\u061c', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069', '\u2028', '\u0085'];
  for (const mark of ['\u001b[2J', '\u001b]0;title\u0007', '\u009b31m', '\r\n', '\u0000', ...marks])
    expect(plain(`a${mark}b`), JSON.stringify(mark)).toMatch(/^a ?b$/);
});
