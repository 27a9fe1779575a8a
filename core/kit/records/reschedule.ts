import type { WaitingChange } from '../../contract/admin.ts';

interface Ranked {
  readonly priority: number;
  readonly createdAt: number;
  readonly readyAt: number;
  /** A moment plus the weight of the priority. */
  readonly rank: number;
}

/**
 * The rank of a waiting job after a change. A job that becomes ready before its time is ranked by its age, so that it does not wait
 * behind jobs that came while it was delayed. A job that is already ready keeps its moment.
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
