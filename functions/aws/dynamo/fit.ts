/** An item of DynamoDB holds 400 KB at most: a record that grows beyond loses what is missed least. */

import type { RecordRow } from '../../../core/records/row.ts';

/** Leaves room for the other attributes, and their copies in the index. */
const maxBytes = 380_000;

/** The row as JSON. Stacks go first, then outputs but the last, then the oldest attempts. */
export function fitted(row: RecordRow): string {
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

const fits = (text: string): boolean => text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;
