/** A table holds only so much in one address: a record that grows beyond it loses what is missed least. */

import type { RecordRow } from './row.ts';

/** The row as JSON. Stacks go first, then outputs but the last, then the oldest attempts. */
export function fitted(row: RecordRow, fits: (text: string) => boolean): string {
  const text = JSON.stringify(row);
  if (fits(text)) return text;
  const attempts = row.attempts.map((report, i) => {
    const { code, message } = report.error ?? {};
    const error = code === undefined ? null : { code, message: message! };
    return { ...report, error, output: i === row.attempts.length - 1 ? report.output : null };
  });
  for (let dropped = 0; ; dropped = Math.max(1, dropped * 2)) {
    const shorter = JSON.stringify({ ...row, attempts: attempts.slice(dropped) });
    if (fits(shorter) || dropped >= attempts.length) return shorter;
  }
}
