import { expect, it } from 'vitest';
import { eventLineText } from '../../../local/cli/output/lines.ts';
import { columnsOf, createUi } from '../../../local/cli/output/ui.ts';

const detail = '421 busy, the server of 邮件 asks to come again later '.repeat(6).trim();
const lineOf = (name: string, columns: number | null) =>
  eventLineText(['✗', 'red', name, detail], createUi({ colour: false, columns }), 0);

it.each(['mail.send', 'j'.repeat(30), 'j'.repeat(500), '发送邮件'.repeat(100)])(
  'a log line of %s fits a terminal, and loses nothing of its text',
  (name) => {
    for (const columns of [40, 80, 120]) {
      const lines = lineOf(name, columns).split('\n');
      for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
      expect(
        lines
          .map((line) => line.trim())
          .join(' ')
          .endsWith(detail),
      ).toBe(true);
    }
    expect(lineOf(name, null)).not.toContain('\n');
    expect(lineOf(name, null)).toContain(`${name.padEnd(20)} ${detail}`);
  },
);
