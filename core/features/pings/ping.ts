/** Informs the monitor of a schedule when a run of its job begins and how it ends. Never changes the result. */

import { steadyNow, within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { messageWithoutUrls } from '../../base/failure.ts';
import { scheduleOf } from '../../envelope/schedule-of.ts';
import type { PingKind, Schedule } from '../../kernel/app/schedule.ts';
import type { Attempt, Verdict } from '../../kernel/attempt/attempt.ts';
import type { Run } from '../../kernel/attempt/run.ts';

const pingMs = 5_000;
/** Reserved at the end of a lease for the answer: a function that answers late counts as failed. */
const answerMs = 1_000;

const starts = new WeakMap<Run, Promise<void>>();
/** Consecutive failed pings. */
const failures = new WeakMap<Schedule, number>();

/** Pings the start of an attempt. The job does not wait for the ping. */
export function pingStart(it: Attempt): void {
  if (scheduleFor(it)) starts.set(it.run, ping(it, 'start'));
}

/** Pings the result of a settled attempt, and waits for the ping: a function stops once it has answered. */
export async function pingEnd(it: Attempt, verdict: Verdict): Promise<void> {
  const kind = scheduleFor(it) ? kindOf(verdict) : null;
  if (kind === null) return;
  const { clock } = it.app;
  // In order: a start that arrived last would look like a run that never ended.
  const sending = Promise.resolve(starts.get(it.run)).then(() => ping(it, kind));
  const leftMs = Math.min(pingMs, it.run.expiresAt - steadyNow(clock) - answerMs);
  await within(clock, leftMs, sending, () => {});
}

/** Checks the schedule too, because a caller may choose any key. */
const scheduleFor = ({ app, envelope }: Attempt): Schedule | undefined => {
  const name = envelope && scheduleOf(envelope);
  const schedule = name === null ? undefined : app.pinged.get(name);
  return schedule?.job.name === envelope?.job ? schedule : undefined;
};

/** An attempt that will be retried pings nothing. */
function kindOf({ verb }: Verdict): PingKind | null {
  return verb === 'ack' ? 'success' : verb === 'abandon' ? 'fail' : null;
}

/** Never rejects. */
async function ping(it: Attempt, kind: PingKind): Promise<void> {
  const { clock, events } = it.app;
  const schedule = scheduleFor(it)!;
  const failed = failures.get(schedule) ?? 0;
  const stop = new AbortController();
  const late = (): never => {
    stop.abort(new Error(`no answer within ${pingMs} ms`));
    throw stop.signal.reason;
  };
  try {
    const sending = (async () => schedule.ping!(kind, stop.signal))();
    await within<unknown>(clock, pingMs, sending, late);
    failures.delete(schedule);
    if (failed > 0) events.emit({ type: 'ping.recovered', schedule: schedule.name, failures: failed });
  } catch (error) {
    failures.set(schedule, failed + 1);
    if (failed > 0) return;
    // Without a cause, because it could contain the URL.
    const message = `The ping "${kind}" of schedule "${schedule.name}" failed: ${messageWithoutUrls(error)}`;
    events.emit({
      type: 'ping.failed',
      schedule: schedule.name,
      ping: kind,
      error: new LongshoreError('BACKEND', message),
    });
  }
}
