/** A timer trigger: runs at the times of its six fields, in UTC. */

import { Cron } from 'croner';
import { config } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { pause } from '../../waiting.ts';

/** Also runs at the start, to show something at once. Throws `CONFIG` for a wrong schedule. */
export async function runTimer(
  { name, schedule }: { readonly name: string; readonly schedule: string },
  stopping: AbortSignal,
  tick: () => Promise<void>,
): Promise<void> {
  const moments = momentsOf(name, schedule);
  while (!stopping.aborted) {
    await tick();
    const next = moments.nextRun();
    if (!next) return;
    await pause(Math.max(0, next.getTime() - Date.now()), stopping);
  }
}

function momentsOf(name: string, schedule: string): Cron {
  try {
    return new Cron(schedule, { timezone: 'UTC', mode: '6-part', paused: true });
  } catch (cause) {
    throw config(
      `Expected the schedule of ${name} to be six fields like 0 * * * * *, got "${schedule}": ${toError(cause).message}`,
    );
  }
}
