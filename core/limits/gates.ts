/**
 * What stands before the run of a job with limits: it takes its slots, or it is released until there may be one. No attempt is spent.
 * Slots are given back when the attempt is settled. Those of a worker that dies end with its lease.
 */

import type { Limit } from '../app/flow-control.ts';
import { answered } from '../attempt/answered.ts';
import type { Admitted, Attempt, End, Maybe, Verdict } from '../attempt/attempt.ts';
import { lostLease, release, releaseDelayMs, unfit } from '../attempt/verdict.ts';
import { LongshoreError, RateLimitedError } from '../base/errors.ts';
import { tellWarning } from '../base/events.ts';
import { backendError } from '../base/failure.ts';
import type { SlotAnswer, TakenSlot } from '../contract/limits.ts';
import { callsTo } from './calls.ts';
import { limitKey, limitsFor } from './keys.ts';
import { promoteWaiters } from './wake.ts';

/** A job that nobody wakes asks again after so long, or as long again as it has waited. */
const alone = { leastMs: 1_000, mostMs: 60_000 };
/** One that is woken asks by itself now and then: who should have woken it may have died. */
const longestParkMs = 3_600_000;

/** One level of priority counts as much as one hour of waiting, as in the queues. */
const levelMs = 3_600_000;

export async function enter(it: Admitted, next: () => Maybe<Verdict>): Promise<Verdict> {
  const { run } = it;
  const taken: TakenSlot[] = [];
  try {
    for (const limit of limitsOf(it)) {
      const key = limitKey(limit, it.payload, it.envelope.context ?? {});
      if (key === null) continue;
      const slot = { key, holder: it.envelope.identifier, owner: run.lease.token };
      const answer = await take(it, limit, slot);
      if (!answer.taken) {
        await free(it, taken);
        run.waitsFor = key;
        return release(parkMs(it, limit, answer.waitMs), null);
      }
      tellStricter(it, limit, answer.limit);
      taken.push(slot);
      if (limit.kind === 'concurrency') run.slots = [...(run.slots ?? []), slot];
    }
  } catch (error) {
    run.slots = null;
    await free(it, taken);
    if (error instanceof LongshoreError && error.code === 'PAYLOAD') return unfit(it, error);
    // Not run unlimited, and no attempt spent.
    return lostLease(it) ?? release(releaseDelayMs, error);
  }
  return next();
}

export async function leave(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Promise<boolean> {
  const { run } = it;
  const { verdict } = end;
  if (verdict.verb === 'nack' && verdict.error instanceof RateLimitedError)
    await holdRates(it as Admitted, verdict.error.retryAfterMs);
  const settled = await next(end);
  if (run.waitsFor !== null) await lookAgain(it as Admitted, run.waitsFor);
  // Also of a lease that was lost: the handler is over, and a slot of another owner stays.
  else await free(it, run.slots ?? []);
  return settled;
}

const limitsOf = ({ app, run, job }: Admitted): readonly Limit[] =>
  limitsFor(app.queueRules.get(run.lease.queue)?.limits, job);

function take(it: Admitted, { slots, holdMs }: Limit, slot: TakenSlot): Promise<SlotAnswer> {
  const { app, run, envelope, ports } = it;
  const { limits } = ports.client.stores;
  const leftMs = run.expiresAt - app.clock.now();
  const request = {
    ...slot,
    limit: slots,
    holdMs: holdMs ?? leftMs,
    rank: (envelope.schedule ?? envelope.issuedAt) + envelope.priority * levelMs,
    queue: run.lease.queue,
  };
  if (holdMs === null) run.slotsUntil = Math.min(run.slotsUntil, run.expiresAt);
  return answered(it, 'The store of limits', callsTo(limits!).take(request));
}

function parkMs({ ports, startedAt, envelope }: Admitted, { kind }: Limit, waitMs: number): number {
  if (kind === 'rate') return waitMs;
  if (ports.client.backend.waiting) return Math.min(waitMs, longestParkMs);
  const waitedMs = startedAt - (envelope.schedule ?? envelope.issuedAt);
  return Math.min(alone.mostMs, Math.max(alone.leastMs, waitedMs));
}

/** Never fails: what is not given back ends with the lease. */
async function free(it: Attempt, slots: readonly TakenSlot[]): Promise<void> {
  if (slots.length === 0) return;
  const { client } = it.ports;
  await wakeSafely(it, async () => promoteWaiters(client, await callsTo(client.stores.limits!).free(slots)));
}

/** Who gave a slot back before this job was in its queue again could not wake it. */
async function lookAgain(it: Admitted, key: string): Promise<void> {
  const { client } = it.ports;
  const { identifier: holder, queue } = it.envelope;
  await wakeSafely(it, async () => {
    const waits = await client.stores.limits!.waitsFor(holder);
    if (!waits.includes(key)) await client.backend.waiting?.promote([{ queue, id: holder }]);
  });
}

async function wakeSafely(it: Attempt, work: () => Promise<void>): Promise<void> {
  const during = 'giving slots back';
  const { name: backend } = it.ports.client.backend;
  await answered(it, 'The store of limits', work()).catch((error) =>
    it.app.events.emit({ type: 'backend.failed', backend, during, error: backendError(during, error) }),
  );
}

/** The other side has said "wait": all jobs that share the rate wait with this one. */
async function holdRates(it: Admitted, ms: number): Promise<void> {
  const { limits } = it.ports.client.stores;
  for (const limit of limitsOf(it)) {
    const key = limit.kind === 'rate' ? limitKey(limit, it.payload, it.envelope.context ?? {}) : null;
    if (key !== null) await wakeSafely(it, () => limits!.hold(key, ms));
  }
}

const told = new WeakMap<object, Set<string>>();

/** Two releases run side by side and say different things. Each of them is told, once. */
function tellStricter({ app, ports }: Admitted, { of, kind, slots }: Limit, counts: number): void {
  if (counts >= slots) return;
  const said = told.get(app) ?? new Set<string>();
  told.set(app, said);
  if (said.has(of + kind)) return;
  said.add(of + kind);
  tellWarning(
    app.events,
    ports.client.backend.name,
    `The limit of ${kind} of ${of} is ${slots} here and ${counts} in another release that runs: the smaller one counts.`,
  );
}
