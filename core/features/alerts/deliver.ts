/** Sends notices to their targets, and keeps those that a target has not accepted. */

import { within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { messageWithoutUrls } from '../../base/failure.ts';
import type { AlertHost, AlertNotice, Alerts, AlertTarget } from '../../kernel/app/alerts.ts';
import { type AlertState, type QueuedNotice, queued, type TargetState } from './state.ts';

const sendMs = 5_000;
const minuteMs = 60_000;
const longestPauseMs = 60 * minuteMs;

/** Assigns each notice to the targets that want it. */
export function addressed({ to }: Alerts, notices: readonly AlertNotice[]): QueuedNotice[] {
  return notices.map((notice) => {
    const wanting = to.filter(({ severity = notice.severity }) => severity === notice.severity);
    return { ...notice, to: wanting.map(({ name }) => name) };
  });
}

/**
 * Sends one message per target, with all notices that it has not accepted. A failed target is skipped for one minute, then for two, up to an
 * hour. Never rejects.
 */
export async function deliver(
  alerts: Alerts,
  { app }: Pick<AlertHost, 'app'>,
  state: AlertState,
  now: number,
): Promise<AlertState> {
  const targets: Record<string, TargetState> = {};
  const taken = new Set<string>();
  await Promise.all(
    alerts.to.map(async (target) => {
      const { name } = target;
      const failed = state.targets[name];
      const mine = state.notices.filter(({ to }) => to.includes(name));
      // A clock that was ahead must not delay a target for longer than the longest pause.
      const waits = failed !== undefined && now < failed.nextAt && failed.nextAt - now <= longestPauseMs;
      if (mine.length === 0 || waits) {
        if (failed) targets[name] = failed;
        return;
      }
      try {
        await send(app, target, mine.map(noticeOf));
        taken.add(name);
      } catch (error) {
        const failures = (failed?.failures ?? 0) + 1;
        const pauseMs = Math.min(longestPauseMs, minuteMs * 2 ** Math.min(failures - 1, 10));
        targets[name] = { failures, nextAt: now + pauseMs };
        if (failures > 1) return;
        app.events.emit({ type: 'alert.failed', target: name, error: refusal(name, error) });
      }
    }),
  );
  const names = new Set(alerts.to.map(({ name }) => name));
  const rest = state.notices.map((notice) => ({
    ...notice,
    // Drop targets that were removed.
    to: notice.to.filter((name) => names.has(name) && !taken.has(name)),
  }));
  return { ...state, targets, notices: queued(rest, now) };
}

const noticeOf = ({ to: _, ...notice }: QueuedNotice): AlertNotice => notice;

/** Rejects if the target has not accepted them within 5 s. */
export async function send(
  { clock }: AlertHost['app'],
  target: AlertTarget,
  notices: readonly AlertNotice[],
): Promise<void> {
  const stop = new AbortController();
  const late = (): never => {
    const error = new Error(`Target "${target.name}" has not answered within ${sendMs} ms.`);
    stop.abort(error);
    throw error;
  };
  // An async function, because a target may throw instead of rejecting.
  const sending = (async () => target.send(notices, { signal: stop.signal, now: clock.now() }))();
  await within<unknown>(clock, sendMs, sending, late);
}

/** Without a cause, because it could contain the URL. */
export const refusal = (target: string, error: unknown): LongshoreError =>
  new LongshoreError('BACKEND', `Target "${target}" does not take alerts: ${messageWithoutUrls(error)}`);
