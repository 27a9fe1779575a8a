/** Asks for slots on behalf of an attempt, and computes how long a refused job waits. */

import { steadyNow } from '../../base/clock.ts';
import type { RefusedSlot, SlotAnswer, SlotRequest, TakenSlot } from '../../contract/derived/limits.ts';
import type { Limit } from '../../kernel/app/flow-control.ts';
import type { Admitted } from '../../kernel/attempt/attempt.ts';
import { callsTo } from './calls.ts';

/** A job that cannot be woken retries after as long as it has waited, within these bounds; in a long line up to `parkMsPerAhead` per job. */
const alone = { leastMs: 1_000, mostMs: 60_000 };
/** A job at a rate knows its time, but asks again after this time: limits change, and jobs before it are cancelled. */
const atRateMs = 3_600_000;
/**
 * A job that can be woken also retries at times: the process that removed its waiter may have died before it woke the job, or the limit may have
 * changed. The pause is this number of leases, or a time per job ahead, so that a long queue makes only a few requests per second.
 */
const leasesOfPark = 4;
const parkMsPerAhead = 1_000;
/** The longest park of a job that waits for an operator or another job: a store may not remember all waiters. */
export const parkedMs = 600_000;
/** The most slots of a key. */
export const most = 10_000;
/** One level of priority counts as much as one hour of waiting, as in the queues. */
const levelMs = 3_600_000;

export const slotOf = ({ envelope, run }: Admitted, key: string): TakenSlot => ({
  key,
  holder: envelope.identifier,
  owner: run.lease.token,
});

/** @param how `holdMs` is the lease by default */
export function ask(
  it: Admitted,
  slot: TakenSlot,
  limit: number,
  how: Partial<Pick<SlotRequest, 'holdMs' | 'waiter' | 'isStart'>> = {},
): Promise<SlotAnswer> {
  const { app, run, envelope, ports } = it;
  const request = {
    ...slot,
    limit,
    holdMs: run.expiresAt - steadyNow(app.clock),
    ...how,
    unwakeable: !ports.client.backend.pending,
    rank: (envelope.schedule ?? envelope.issuedAt) + envelope.priority * levelMs,
    queue: run.lease.queue,
  };
  return callsTo(ports.client).take(it, request);
}

/** How long a refused job is released unless it is woken. */
export function parkMs(it: Admitted, kind: Limit['kind'], { waitMs, ahead }: RefusedSlot): number {
  const { ports, run, startedAt, envelope } = it;
  if (kind === 'rate') return Math.min(waitMs, atRateMs);
  if (ports.client.backend.pending) {
    const leaseMs = run.expiresAt - startedAt;
    return Math.min(waitMs, Math.max(leasesOfPark * leaseMs, parkMsPerAhead * ahead));
  }
  const waitedMs = startedAt - (envelope.schedule ?? envelope.issuedAt);
  const mostMs = Math.min(parkedMs, Math.max(alone.mostMs, parkMsPerAhead * ahead));
  return Math.min(mostMs, Math.max(alone.leastMs, waitedMs));
}
