/**
 * The circuit breaker of a job. Each failed attempt takes a slot of one key. When there are enough of them, another key is held, and no attempt
 * begins. When the hold ends, that key has one slot for a probe. If the probe succeeds, all waiting jobs run; if it fails, the key is held
 * again.
 */

import { backendError } from '../../base/failure.ts';
import type { LimitState, LimitStore, TakenSlot } from '../../contract/derived/limits.ts';
import type { Breaker } from '../../kernel/app/breaker.ts';
import { breakerPrefix } from '../../kernel/app/limit-keys.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted, Attempt, End } from '../../kernel/attempt/attempt.ts';
import { isFailure, resultOf } from '../../kernel/attempt/verdict.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { ofAttempt } from './holders.ts';
import { ask, most, parkedMs, slotOf } from './slots.ts';
import { wakeAll } from './wake.ts';

export const breakerKeys = (job: string) => ({
  failures: `${breakerPrefix}${job}:failures`,
  open: `${breakerPrefix}${job}:open`,
});

/** Failures further apart are not an outage. */
const rememberMs = 86_400_000;
/** Workers see each other's changes within this time. */
const freshMs = 1_000;

interface State {
  readonly failures: number;
  readonly isHeld: boolean;
}

interface Known {
  readonly at: number;
  readonly state: Promise<State>;
}

const known = new WeakMap<LimitStore, Map<string, Known>>();

/** `null` = the job may run. A slot = it may run, as the probe. `waitsFor` = it waits for that key. */
export async function beforeRun(
  it: Admitted,
): Promise<TakenSlot | { readonly waitsFor: TakenSlot; readonly delayMs: number } | null> {
  const { job, ports } = it;
  if (!stops(await stateOf(it), job.breaker!)) return null;
  const slot = slotOf(it, breakerKeys(job.name).open);
  const { openMs } = job.breaker!;
  const answer = await ask(it, slot, 1);
  // Wait for one of many slots, so that all jobs run at once when the breaker closes. Meanwhile the slot may have become free.
  if (answer.taken || (await ask(it, slot, most)).taken) return slot;
  // A job that cannot be woken retries when the next probe is allowed.
  const longestMs = ports.client.backend.pending ? Math.max(openMs, parkedMs) : openMs;
  // A failed probe wakes nothing; the next waiter probes after another `openMs`.
  return { waitsFor: slot, delayMs: Math.min(answer.waitMs, openMs * (answer.ahead + 1), longestMs) };
}

/** Never rejects: a failure of the breaker does not affect the job. */
export async function afterEnd(it: Attempt, end: End, settled: boolean): Promise<void> {
  const { app, ports } = it;
  await answered(it, 'The store of limits', note(it as Admitted, end, settled)).catch((cause) => {
    const during = `keeping the breaker of job "${it.job!.name}"`;
    const { name: backend } = ports.client.backend;
    app.events.emit({ type: 'backend.failed', backend, during, error: backendError(during, cause) });
  });
}

async function note(it: Admitted, end: End, settled: boolean): Promise<void> {
  const { job, run, ports } = it;
  const { client } = ports;
  const keys = breakerKeys(job.name);
  const hasTried = run.slots?.some(({ key }) => key === keys.open) ?? false;
  const hasFailed = settled && isFailure(resultOf(it, end, settled));
  const before = await stateOf(it);
  // It began before the breaker opened, so its result is out of date.
  if (!hasTried && stops(before, job.breaker!)) return;
  if (hasFailed) await countFailure(it, keys.failures);
  else if (settled && end.verdict.outcome === 'acked') await clear(it, before, hasTried);
  if (!hasFailed && !hasTried) return;
  const state = await readAnew(it);
  if (hasFailed && state.failures >= job.breaker!.failures && !state.isHeld) await open(it, state.failures);
  // Also if another probe has closed it meanwhile: this one may have kept others waiting since.
  else if (hasTried && !stops(state, job.breaker!)) await wakeAll(client, keys.open);
}

async function countFailure(it: Admitted, key: string): Promise<void> {
  const holdMs = rememberMs + it.job.breaker!.openMs;
  await ask(it, ofAttempt(slotOf(it, key), it.number), most, { holdMs });
}

async function open({ app, job, ports }: Admitted, failures: number): Promise<void> {
  const { openMs } = job.breaker!;
  const limits = ports.client.stores.limits!;
  await limits.hold(breakerKeys(job.name).open, openMs);
  remember(limits, job.name, app.clock.now(), Promise.resolve({ failures, isHeld: true }));
  app.events.emit({ type: 'breaker.opened', job: job.name, failures, openMs });
}

async function clear({ app, job, ports }: Admitted, before: State, hasTried: boolean): Promise<void> {
  if (!hasTried && before.failures === 0) return;
  const { hadFailures } = await reset(ports.client, job.name, hasTried);
  // There can be two probes, if the first ended between the two requests of the second. Only one of them has closed the breaker.
  if (hasTried && hadFailures) app.events.emit({ type: 'breaker.closed', job: job.name });
}

async function reset(
  { app, stores }: Pick<Client, 'app' | 'stores'>,
  job: string,
  isOpen: boolean,
): Promise<{ readonly hadFailures: boolean; readonly wasOpen: boolean }> {
  const keys = breakerKeys(job);
  const limits = stores.limits!;
  const hadFailures = await limits.reset(keys.failures);
  const wasOpen = isOpen && (await limits.reset(keys.open));
  remember(limits, job, app.clock.now(), Promise.resolve({ failures: 0, isHeld: false }));
  return { hadFailures, wasOpen };
}

/** Resolves with `false` if there were no failures to reset. */
export async function closeBreaker(client: Client, job: string): Promise<boolean> {
  const { hadFailures, wasOpen } = await reset(client, job, true);
  await wakeAll(client, breakerKeys(job).open);
  return hadFailures || wasOpen;
}

const stops = ({ failures, isHeld }: State, breaker: Breaker): boolean =>
  isHeld || failures >= breaker.failures;

function stateOf(it: Admitted): Promise<State> {
  const { app, job, ports } = it;
  const last = known.get(ports.client.stores.limits!)?.get(job.name);
  return last && app.clock.now() - last.at < freshMs ? last.state : readAnew(it);
}

function readAnew(it: Admitted): Promise<State> {
  const { app, job, ports } = it;
  const limits = ports.client.stores.limits!;
  const reading = answered(
    it,
    'The store of limits',
    limits.list({ prefix: `${breakerPrefix}${job.name}:`, max: 2 }),
  );
  const state = reading.then((found) => stateIn(found, job.name));
  remember(limits, job.name, app.clock.now(), state);
  state.catch(() => known.get(limits)?.delete(job.name));
  return state;
}

export function stateIn(found: readonly LimitState[], job: string): State {
  const keys = breakerKeys(job);
  const at = (wanted: string) => found.find(({ key }) => key === wanted);
  return { failures: at(keys.failures)?.used ?? 0, isHeld: (at(keys.open)?.heldUntil ?? null) !== null };
}

function remember(limits: LimitStore, job: string, at: number, state: Promise<State>): void {
  const all = known.get(limits) ?? new Map<string, Known>();
  known.set(limits, all);
  all.set(job, { at, state });
}
