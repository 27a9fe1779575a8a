/**
 * The gate before the run of a job with limits: the job takes its slots, or is released until one may be free, which spends no attempt.
 * Concurrency slots are freed when the attempt is settled; if the worker dies, they end with the lease. Rate slots are freed only if the handler
 * did not begin.
 */

import { LongshoreError, RateLimitedError } from '../../base/errors.ts';
import { tellWarning } from '../../base/events.ts';
import { backendError } from '../../base/failure.ts';
import type { SlotAnswer, TakenSlot } from '../../contract/derived/limits.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { childOf } from '../../envelope/flow-ids.ts';
import { type Limit, sharedKey } from '../../kernel/app/flow-control.ts';
import { limitKey, limitsFor } from '../../kernel/app/limit-keys.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted, Attempt, End, Maybe, Verdict } from '../../kernel/attempt/attempt.ts';
import { lostLease, release, releaseDelayMs, unfit } from '../../kernel/attempt/verdict.ts';
import { afterEnd, beforeRun } from './breaker.ts';
import { callsTo } from './calls.ts';
import { ofRun } from './holders.ts';
import { freed, refused, took } from './known.ts';
import { leaveLines } from './lines.ts';
import { ask, parkMs, slotOf } from './slots.ts';
import { promoteWaiters } from './wake.ts';

export async function enter(it: Admitted, next: () => Maybe<Verdict>): Promise<Verdict> {
  const { run } = it;
  const taken: TakenSlot[] = [];
  /** Not freed once the handler has begun, however it ends. */
  const rates: TakenSlot[] = [];
  try {
    const tried = it.job.breaker && (await beforeRun(it));
    if (tried && 'waitsFor' in tried) {
      run.waitsFor = tried.waitsFor;
      return release(tried.delayMs, null);
    }
    if (tried) {
      taken.push(tried);
      run.slots = [tried];
      run.slotsUntil = run.expiresAt;
    }
    for (const limit of limitsOf(it)) {
      const key = limitKey(limit, it.payload, it.envelope.context ?? {});
      if (key === null) continue;
      const ofJob = slotOf(it, key);
      // A rate counts every attempt, also of the same job. Refused attempts of a job share one waiter, named after the job.
      const slot = limit.kind === 'rate' ? ofRun(ofJob) : ofJob;
      // The slot may be taken even if no answer came.
      if (limit.kind === 'rate') rates.push(slot);
      const answer = await take(it, limit, slot, ofJob.holder);
      tellOtherRelease(it, limit, answer);
      if (!answer.taken) {
        refused(it, key, answer.waitMs);
        await free(it, [...taken, ...rates.filter((one) => one !== slot)]);
        run.waitsFor = ofJob;
        return release(parkMs(it, limit.kind, answer), null);
      }
      took(it, slot);
      if (limit.kind === 'rate') continue;
      taken.push(slot);
      run.slots = [...(run.slots ?? []), slot];
    }
    run.hasSlots = true;
  } catch (error) {
    run.slots = null;
    await free(it, [...taken, ...rates]);
    if (error instanceof LongshoreError && error.code === 'PAYLOAD') return unfit(it, error);
    for (const limit of limitsOf(it)) refused(it, sharedKey(limit), Infinity);
    // The job must not run without its limit, and no attempt is spent.
    return lostLease(it) ?? release(releaseDelayMs, error);
  }
  try {
    return withinHold(it, await next());
  } finally {
    if (!run.began) await free(it, rates);
  }
}

export async function leave(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Promise<boolean> {
  const { run } = it;
  const { client } = it.ports;
  const { verdict } = end;
  if (saysWait(verdict)) await holdRates(it as Admitted, verdict.error.retryAfterMs);
  const settled = await next(end);
  if (it.job!.breaker && run.waitsFor === null) await afterEnd(it, end, settled);
  if (run.waitsFor !== null) await afterRefusal(it as Admitted, run.waitsFor, settled);
  // Also for a lost lease: the handler is over, and a slot of another owner stays.
  else await free(it, run.slots ?? []);
  // An expired job may have waited before and will not ask again.
  if (settled && verdict.verb === 'abandon' && !run.began)
    await leaveLines(client, [it.envelope!.identifier]);
  return settled;
}

function limitsOf({ app, run, job, envelope }: Admitted): readonly Limit[] {
  const declared = limitsFor(app.queueRules.get(run.lease.queue)?.limits, job);
  const ofBatch = batchLimit(envelope);
  return ofBatch ? [...declared, ofBatch] : declared;
}

/** The limit of the child's batch; `null` = it is not a child, or its batch has no limit. */
function batchLimit({ identifier, concurrency }: Envelope): Limit | null {
  const batch = concurrency ? childOf(identifier)?.batch : undefined;
  if (batch === undefined) return null;
  return {
    kind: 'concurrency',
    of: `batch:${batch}`,
    slots: concurrency!,
    holdMs: null,
    keyOf: null,
    maxHoldMs: 0,
  };
}

function take(it: Admitted, { slots, holdMs }: Limit, slot: TakenSlot, waiter: string): Promise<SlotAnswer> {
  if (holdMs !== null) return ask(it, slot, slots, { holdMs, waiter, isStart: true });
  it.run.slotsUntil = Math.min(it.run.slotsUntil, it.run.expiresAt);
  return ask(it, slot, slots);
}

/** Never fails: a slot that is not freed ends with the lease. */
async function free(it: Attempt, slots: readonly TakenSlot[]): Promise<void> {
  if (slots.length === 0) return;
  const { client } = it.ports;
  await callsTo(client)
    .free(it, slots)
    .catch((error) => tellFailure(it, error));
  freed(it, slots);
}

/**
 * A slot that was freed before this job was back in its queue could not wake it, so check again. If the job was cancelled meanwhile, remove its
 * waiter.
 */
async function afterRefusal(it: Admitted, { key, holder }: TakenSlot, settled: boolean): Promise<void> {
  const { client } = it.ports;
  const { backend, stores } = client;
  const { identifier: id, queue } = it.envelope;
  const job = { queue, id };
  await wakeSafely(it, async () => {
    if (!settled) {
      const isGone = ((await backend.pending?.read(job)) ?? null) === null;
      if (isGone) await stores.limits!.leave([holder]);
    } else if (backend.pending && !(await callsTo(client).waitsFor(it, holder)).includes(key))
      await promoteWaiters(client, [{ key, holder, queue }]);
  });
}

async function wakeSafely(it: Attempt, work: () => Promise<void>): Promise<void> {
  await answered(it, 'The store of limits', work()).catch((error) => tellFailure(it, error));
}

function tellFailure(it: Attempt, cause: unknown): void {
  const during = 'giving slots back';
  const { name: backend } = it.ports.client.backend;
  it.app.events.emit({ type: 'backend.failed', backend, during, error: backendError(during, cause) });
}

/** The called service said "wait": all jobs under the same rate wait. */
async function holdRates(it: Admitted, ms: number): Promise<void> {
  const { limits } = it.ports.client.stores;
  for (const { key, maxHoldMs } of ratesOf(it))
    await wakeSafely(it, () => limits!.hold(key, Math.min(ms, maxHoldMs)));
}

/** The called service may be wrong: no job waits for longer than the rate's `maxHoldMs`. */
function withinHold(it: Admitted, verdict: Verdict): Verdict {
  if (!saysWait(verdict)) return verdict;
  const mostMs = Math.max(0, ...ratesOf(it).map(({ maxHoldMs }) => maxHoldMs));
  return mostMs > 0 && verdict.delayMs > mostMs ? { ...verdict, delayMs: mostMs } : verdict;
}

const saysWait = (
  verdict: Verdict,
): verdict is Extract<Verdict, { verb: 'nack' }> & { error: RateLimitedError } =>
  verdict.verb === 'nack' && verdict.error instanceof RateLimitedError;

function ratesOf(it: Admitted): { readonly key: string; readonly maxHoldMs: number }[] {
  return limitsOf(it).flatMap((limit) => {
    const key = limit.kind === 'rate' ? limitKey(limit, it.payload, it.envelope.context ?? {}) : null;
    return key === null ? [] : { key, maxHoldMs: limit.maxHoldMs };
  });
}

const told = new WeakMap<object, Set<string>>();

/** Two releases declare different limits. Each is warned once. */
function tellOtherRelease(
  { app, ports }: Admitted,
  { of, kind, slots }: Limit,
  { limit, largest }: SlotAnswer,
): void {
  if (limit === slots && largest === slots) return;
  const said = told.get(app) ?? new Set<string>();
  told.set(app, said);
  if (said.has(of + kind)) return;
  said.add(of + kind);
  tellWarning(
    app.events,
    ports.client.backend.name,
    `The limit of ${kind} of ${of} is ${slots} here and ${limit < slots ? limit : largest} in another release that runs: the smaller one counts.`,
  );
}
