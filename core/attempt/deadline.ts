/**
 * The timeouts of attempts. A timer costs as much as the rest of a short attempt, and keeps alive whatever it holds. So none is
 * made before the turn of the event loop is over in which the handler began: what ends within that turn needs none.
 */

import type { App } from '../app/app.ts';
import type { Admitted } from './attempt.ts';

interface Begun {
  readonly app: App;
  readonly admitted: Admitted;
}

let begun: Begun[] = [];

/** Ends the run at its deadline, unless it has let go by the end of this turn. */
export function endInTime(app: App, admitted: Admitted): void {
  if (begun.push({ app, admitted }) === 1) setImmediate(startTimers);
}

function startTimers(): void {
  const all = begun;
  begun = [];
  for (const { app, admitted } of all) {
    const { run, job, startedAt } = admitted;
    if (run.onEnd === null) continue;
    // Counted from startedAt: a slow key store or schema must not move the end past `deadlineAt`.
    const leftMs = startedAt + job.timeoutMs - app.clock.now();
    if (leftMs > 0) run.stopTimer = app.clock.after(leftMs, () => run.end('timeout'));
    else run.end('timeout');
  }
}
