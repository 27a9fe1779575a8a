/** Asks for slots in the name of an attempt, and says how long one without waits. */

import type { Admitted } from '../attempt/attempt.ts';
import type { SlotAnswer, TakenSlot } from '../contract/limits.ts';
import { callsTo } from './calls.ts';

/** A job that nobody wakes asks again after so long, or as long again as it has waited. */
const alone = { leastMs: 1_000, mostMs: 60_000 };
/** One that is woken asks by itself now and then: who should have woken it may have died. */
const longestParkMs = 3_600_000;
/** Of a job that waits for people or for another job, and is woken: a store may not remember all that wait. */
export const parkedMs = 600_000;
/** Slots of a key. */
export const most = 10_000;
/** One level of priority counts as much as one hour of waiting, as in the queues. */
const levelMs = 3_600_000;

export const slotOf = ({ envelope, run }: Admitted, key: string): TakenSlot => ({
  key,
  holder: envelope.identifier,
  owner: run.lease.token,
});

/**
 * @param holdMs as long as the lease without it
 * @param waiter who waits without a slot; the holder without it
 */
export function ask(
  it: Admitted,
  slot: TakenSlot,
  limit: number,
  holdMs?: number,
  waiter = slot.holder,
): Promise<SlotAnswer> {
  const { app, run, envelope, ports } = it;
  const request = {
    ...slot,
    waiter,
    limit,
    holdMs: holdMs ?? run.expiresAt - app.clock.now(),
    rank: (envelope.schedule ?? envelope.issuedAt) + envelope.priority * levelMs,
    queue: run.lease.queue,
  };
  return callsTo(ports.client).take(it, request);
}

/** How long a job is released for that gets its slot after `waitMs`, if nobody wakes it. */
export function parkMs({ ports, startedAt, envelope }: Admitted, waitMs: number): number {
  if (ports.client.backend.waiting) return Math.min(waitMs, longestParkMs);
  const waitedMs = startedAt - (envelope.schedule ?? envelope.issuedAt);
  return Math.min(alone.mostMs, Math.max(alone.leastMs, waitedMs));
}
