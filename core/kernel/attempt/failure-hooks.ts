/** Decides when `onError` and `onDeadLetter` are called. call-hooks.ts calls them; it is loaded with the first failure of an app that has them. */

import type { JobFacts } from '../../base/events.ts';
import type { App } from '../app/app.ts';
import type { Attempt, AttemptResult, End } from './attempt.ts';
import { isFailure } from './verdict.ts';

const load = () => import('./call-hooks.ts');

export function callHooks(it: Attempt, facts: JobFacts, result: AttemptResult, { verdict }: End): void {
  const { app } = it;
  if (!app.failureHooks || verdict.verb === 'ack' || !isFailure(result)) return;
  const { open } = app.failureHooks;
  const failure = { thrown: verdict.error, facts, result, envelope: it.envelope };
  const call: Promise<void> = load()
    .then(({ callEach }) => callEach(app, failure))
    .catch(() => {}) // loading fails only in a damaged installation
    .finally(() => open.delete(call));
  open.add(call);
}

/**
 * Resolves when no call is running, after `ms` or 2 s at the latest. Call it before the process ends or is frozen by its cloud,
 * which would break off the calls.
 */
export async function hooksEnded(app: App, ms = Number.POSITIVE_INFINITY): Promise<void> {
  if (app.failureHooks?.open.size) await (await load()).ended(app, ms);
}
