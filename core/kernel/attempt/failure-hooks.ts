/** Calls an app's `onError` and `onDeadLetter`. A call that throws, rejects or hangs does not affect its job. */

import { within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { JobFacts } from '../../base/events.ts';
import { toError } from '../../base/failure.ts';
import type { JobFailure } from '../../contract/outcome.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { App } from '../app/app.ts';
import type { Attempt, AttemptResult, End } from './attempt.ts';
import { isFailure } from './verdict.ts';

/** A call that takes longer is abandoned. */
const longestCallMs = 10_000;
/** The most failures with running calls: a slow service must not fill the memory. */
const mostOpen = 100;
const longestWaitMs = 2_000;

export function callHooks(it: Attempt, facts: JobFacts, result: AttemptResult, { verdict }: End): void {
  const { app } = it;
  if (!app.failureHooks || verdict.verb === 'ack' || !isFailure(result)) return;
  const { open } = app.failureHooks;
  const failed = { thrown: verdict.error, facts, result, envelope: it.envelope };
  const call: Promise<void> = Promise.resolve()
    .then(() => callEach(app, failed))
    .finally(() => open.delete(call));
  open.add(call);
}

/**
 * Resolves when no call is running, after `ms` or 2 s at the latest. Call it before the process ends or is frozen by its cloud,
 * which would break off the calls.
 */
export async function hooksEnded({ clock, failureHooks }: App, ms = Number.POSITIVE_INFINITY): Promise<void> {
  if (!failureHooks?.open.size) return;
  await within<unknown>(clock, Math.min(ms, longestWaitMs), Promise.all(failureHooks.open), () => {});
}

interface Failed {
  readonly thrown: unknown;
  readonly facts: JobFacts;
  readonly result: AttemptResult;
  readonly envelope: Envelope | null;
}
type HookName = 'onError' | 'onDeadLetter';

/** Never rejects. */
async function callEach(app: App, failed: Failed): Promise<void> {
  const { facts, result, envelope, thrown } = failed;
  const { outcome, settled, reason, delayMs } = result;
  const failure: JobFailure = {
    ...facts,
    maxAttempts: envelope && envelope.maxRetries + 1,
    outcome,
    settled,
    reason,
    delayMs,
    // `payload` is null for a payload that is kept beside the queue and was not loaded.
    payload: () => (envelope?.claim && envelope.payload === null ? undefined : envelope?.payload),
  };
  // A thrown value that is not an error becomes the cause of one.
  const error = thrown instanceof Error ? thrown : new Error(toError(thrown).message, { cause: thrown });
  const names: HookName[] = reason !== null && settled ? ['onError', 'onDeadLetter'] : ['onError'];
  await Promise.all(names.map((name) => callOne(app, name, error, failure)));
}

async function callOne(app: App, name: HookName, error: Error, failure: JobFailure): Promise<void> {
  const { [name]: hook, open } = app.failureHooks!;
  if (!hook) return;
  if (open.size > mostOpen) {
    report(app, name, `is not called while ${mostOpen} failures are under way`);
    return;
  }
  try {
    await within(app.clock, longestCallMs, Promise.resolve(hook(error, failure)), () =>
      report(app, name, `did not end within ${longestCallMs / 1000} s`),
    );
  } catch (cause) {
    report(app, name, `failed: ${toError(cause).message}`, cause);
  }
}

const reported = new WeakMap<App, Set<HookName>>();

/** Reports a broken hook once, not once per job. */
function report(app: App, hook: HookName, problem: string, cause?: unknown): void {
  const hooks = reported.get(app) ?? new Set();
  reported.set(app, hooks);
  if (hooks.has(hook)) return;
  hooks.add(hook);
  const message = `The app's ${hook} ${problem}. The jobs are not affected. This is reported once.`;
  app.events.emit({ type: 'hook.failed', hook, error: new LongshoreError('HANDLER', message, { cause }) });
}
