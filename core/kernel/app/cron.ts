/** Cron patterns. The only module that needs a package; loaded when a due time is first asked for. */

import { Cron } from 'croner';
import { LongshoreError, shown } from '../../base/errors.ts';

/** Returns a function: the first due time after `after` (epoch ms). Throws `CONFIG` for an invalid pattern or time zone. */
export function patternOf(name: string, cron: string, timezone: string): (after: number) => number | null {
  try {
    const pattern = new Cron(cron, { timezone, paused: true });
    // An unknown time zone only fails when it is used, and "0 0 30 2 *" never comes due. A pattern whose year has passed is
    // accepted: an app must not fail to start because time has passed.
    if ((pattern.nextRun() ?? pattern.nextRun(new Date(0))) === null)
      throw new Error('the pattern never comes due');
    return (after) => pattern.nextRun(new Date(after))?.getTime() ?? null;
  } catch (cause) {
    throw new LongshoreError(
      'CONFIG',
      `Schedule "${name}" expects a cron pattern like "0 2 * * *" and an IANA time zone, got ${shown(cron)} in ${shown(timezone)}: ${(cause as Error).message}`,
      { cause },
    );
  }
}
