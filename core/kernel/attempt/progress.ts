/** What a handler reports of its progress, checked before it is stored. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { Progress } from '../../contract/outcome.ts';

/** Longer messages lose their end: a record is no place for a log. */
const mostChars = 1_000;

/** Throws `OPTION`, at once and not as a rejection: nobody may wait for the answer. */
export function progressOf(
  done: number,
  total: number | null = null,
  message: string | null = null,
  at: number,
): Progress {
  if (!Number.isFinite(done) || !Number.isFinite(total ?? 0) || typeof (message ?? '') !== 'string') {
    const got = [done, total, message].map(shown).join(', ');
    throw new LongshoreError('OPTION', `Expected ctx.progress(number, number?, text?), got ${got}.`);
  }
  const isLong = message !== null && message.length > mostChars;
  return { done, total, message: isLong ? `${message.slice(0, mostChars - 1)}…` : message, at };
}
