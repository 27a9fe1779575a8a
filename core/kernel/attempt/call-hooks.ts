/** Calls an app's `onError` and `onDeadLetter`. A call that throws, rejects or hangs changes nothing for its job. */

import { within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { JobFacts } from '../../base/events.ts';
import { toError } from '../../base/failure.ts';
import type { JobFailure } from '../../contract/outcome.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { App } from '../app/app.ts';
import type { AttemptResult } from './attempt.ts';

/** A call is left to itself after so long. */
const longestCallMs = 10_000;
/** Failures under way. A service that is slow must not fill the memory with more of them. */
const mostOpen = 100;
const longestWaitMs = 2_000;

interface Failed {
  readonly thrown: unknown;
  readonly facts: JobFacts;
  readonly result: AttemptResult;
  readonly envelope: Envelope | null;
}
type HookName = 'onError' | 'onDeadLetter';

/** Never rejects. */
export async function callEach(app: App, failed: Failed): Promise<void> {
  const { facts, result, envelope, thrown } = failed;
  const { outcome, settled, reason, delayMs } = result;
  const failure: JobFailure = {
    ...facts,
    maxAttempts: envelope && envelope.maxRetries + 1,
    outcome,
    settled,
    reason,
    delayMs,
    // Kept beside the queue and not loaded, it reads null.
    payload: () => (envelope?.claim && envelope.payload === null ? undefined : envelope?.payload),
  };
  // Anything can be thrown; what is no error becomes the cause of one.
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

/** Once per hook: one that is broken is one event, not one per job. */
function report(app: App, hook: HookName, problem: string, cause?: unknown): void {
  const hooks = reported.get(app) ?? new Set();
  reported.set(app, hooks);
  if (hooks.has(hook)) return;
  hooks.add(hook);
  const message = `The app's ${hook} ${problem}. The jobs are not touched by that. This is reported once.`;
  app.events.emit({ type: 'hook.failed', hook, error: new LongshoreError('HANDLER', message, { cause }) });
}

export async function ended({ clock, failureHooks }: App, ms: number): Promise<void> {
  const open = Promise.all(failureHooks?.open ?? []);
  await within<unknown>(clock, Math.min(ms, longestWaitMs), open, () => {});
}
