/** Fits a record into the size limit of a table's item: the least useful members go first. */

import type { AttemptReport } from '../../contract/outcome.ts';
import type { RecordRow } from './row.ts';

type Cut = (row: RecordRow) => RecordRow;

const each =
  (change: (report: AttemptReport, isLast: boolean) => AttemptReport): Cut =>
  (row) => ({
    ...row,
    attempts: row.attempts.map((report, i) => change(report, i === row.attempts.length - 1)),
  });

const withoutLog = each(({ log: _, ...report }) => report);
const withoutStack = each(({ error, ...report }) => {
  return { ...report, error: error && { code: error.code, message: error.message } };
});
const withoutBody: Cut = ({ body: _, ...row }) => row;
const withoutOutput = each((report, isLast) => ({ ...report, output: isLast ? report.output : null }));

/** The row as JSON. Log lines go first, then stacks, a kept payload, all outputs except the last, and the oldest attempts. */
export function fitted(row: RecordRow, fits: (text: string) => boolean): string {
  let text = JSON.stringify(row);
  let rest = row;
  for (const cut of [withoutLog, withoutStack, withoutBody, withoutOutput]) {
    if (fits(text)) return text;
    rest = cut(rest);
    text = JSON.stringify(rest);
  }
  const { attempts } = rest;
  for (let dropped = 1; !fits(text) && dropped < attempts.length * 2; dropped *= 2)
    text = JSON.stringify({ ...rest, attempts: attempts.slice(dropped) });
  return text;
}
