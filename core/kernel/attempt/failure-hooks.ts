/** When an app's `onError` and `onDeadLetter` are called. How is in call-hooks.ts, loaded with the first failure of an app that has them. */

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
    .catch(() => {}) // only a damaged installation cannot load it
    .finally(() => open.delete(call));
  open.add(call);
}

/**
 * Resolves when no call is under way, at the latest after `ms`, and after 2 s. A process that ends, or that its cloud freezes,
 * would break them off.
 */
export async function hooksEnded(app: App, ms = Number.POSITIVE_INFINITY): Promise<void> {
  if (app.failureHooks?.open.size) await (await load()).ended(app, ms);
}
