import type { WaitingChange } from '../../contract/admin.ts';

interface Ranked {
  readonly priority: number;
  readonly createdAt: number;
  readonly readyAt: number;
  /** The moment that ranks it, and its priority's weight. */
  readonly rank: number;
}

/**
 * Where a waiting job stands after a change. One that becomes ready before its time is ranked by its age, so that a promoted job does not
 * wait behind those that came while it was delayed. One that is ready keeps its time.
 */
export function reschedule(
  { priority: old, createdAt, readyAt, rank }: Ranked,
  { priority = old, notBefore }: WaitingChange,
  now: number,
  ageingMs: number,
): Pick<Ranked, 'priority' | 'readyAt' | 'rank'> {
  const weight = priority * ageingMs;
  if (notBefore !== undefined && (notBefore ?? 0) > now)
    return { priority, readyAt: notBefore!, rank: notBefore! + weight };
  if (notBefore === undefined || readyAt <= now)
    return { priority, readyAt, rank: rank - old * ageingMs + weight };
  return { priority, readyAt: now, rank: createdAt + weight };
}
