/**
 * The timeouts of attempts. A timer costs as much as the rest of a short attempt, and keeps alive what it refers to. So it
 * is made only when the turn of the event loop in which the handler began is over: a handler that ends within it needs none.
 */

import type { Admitted } from './attempt.ts';

let begun: Admitted[] = [];

/** Ends the run at its deadline, unless it has let go by the end of this turn. */
export function endInTime(it: Admitted): void {
  if (begun.push(it) === 1) setImmediate(startTimers);
}

function startTimers(): void {
  const all = begun;
  begun = [];
  for (const { app, run, job, startedAt } of all) {
    if (run.onEnd === null) continue;
    // Counted from startedAt: a slow key store or schema must not move the end past `deadlineAt`.
    const leftMs = startedAt + job.timeoutMs - app.clock.now();
    if (leftMs > 0) run.stopTimer = app.clock.after(leftMs, () => run.end('timeout'));
    else run.end('timeout');
  }
}
