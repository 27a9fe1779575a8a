/** Cron patterns: the one module that needs a package, and it is loaded when a schedule is first asked when it is due. */

import { Cron } from 'croner';
import { LongshoreError, shown } from '../../base/errors.ts';

/** The first due moment after `after` (epoch ms). Throws `CONFIG` for a pattern or a time zone that there is not. */
export function patternOf(name: string, cron: string, timezone: string): (after: number) => number | null {
  try {
    const pattern = new Cron(cron, { timezone, paused: true });
    // An unknown time zone only shows when it is used, and "0 0 30 2 *" is a pattern without a day. One whose year is over is
    // none of these: an app must not fail to start because time has passed.
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
