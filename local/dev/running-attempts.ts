/** What a worker has leased and what it runs, as a wrapper of its backend and its events see it. */

import type { LongshoreEvent } from '../../core/base/events.ts';
import type { JobLease } from '../../core/contract/queue.ts';

export interface Leased {
  readonly id: string;
  /** Counted as events count it. */
  readonly attempt: number;
  readonly lease: JobLease;
}

export interface RunningAttempt extends Leased {
  readonly job: string;
}

export type AttemptEvent = Extract<LongshoreEvent, { type: 'job.started' | 'job.settled' }>;
export type SettledEvent = Extract<LongshoreEvent, { type: 'job.settled' }>;

const mostPast = 1_000;

export function createRunning() {
  const leased = new Map<string, Leased>();
  const running = new Map<string, RunningAttempt>();
  const listeners = new Set<(event: AttemptEvent) => void>();
  const past: AttemptEvent[] = [];
  const keyOf = ({ id, attempt }: { id: string; attempt: number }) => `${id} ${attempt}`;

  return {
    /** All that a fault could be about. */
    get size(): number {
      return leased.size;
    },
    /** The one that began first. */
    first: (): RunningAttempt | null => [...running.values()][0] ?? null,
    lease(leases: readonly JobLease[]): void {
      for (const lease of leases) {
        const one = leasedOf(lease);
        if (one) leased.set(keyOf(one), one);
      }
    },
    /** Its attempt is over, also when the queue could not be asked to settle it. */
    end(lease: JobLease): void {
      const one = leasedOf(lease);
      if (!one) return;
      leased.delete(keyOf(one));
      running.delete(keyOf(one));
    },
    event(event: LongshoreEvent): void {
      if (event.type === 'job.started') {
        const one = leased.get(keyOf(event));
        if (one) running.set(keyOf(event), { ...one, job: event.job });
      } else if (event.type === 'job.settled') {
        leased.delete(keyOf(event));
        running.delete(keyOf(event));
      }
      if (event.type !== 'job.started' && event.type !== 'job.settled') return;
      past.push(event);
      if (past.length > mostPast) past.shift();
      for (const listener of [...listeners]) listener(event);
    },
    /** Resolves with the first event that `matches`, be it one of the last. */
    find<E extends AttemptEvent>(matches: (event: AttemptEvent) => event is E): Promise<E> {
      const found = past.find(matches);
      if (found) return Promise.resolve(found);
      return new Promise((resolve) => {
        const listener = (event: AttemptEvent) => {
          if (!matches(event)) return;
          listeners.delete(listener);
          resolve(event);
        };
        listeners.add(listener);
      });
    },
    /** The attempt that has just begun. */
    of: (event: { id: string; attempt: number }): RunningAttempt | null => running.get(keyOf(event)) ?? null,
  };
}

/** `null` for what is no message of Longshore: it is refused before a handler sees it. */
function leasedOf(lease: JobLease): Leased | null {
  try {
    const { identifier, attempts } = JSON.parse(lease.body) as { identifier?: unknown; attempts?: unknown };
    if (typeof identifier !== 'string' || typeof attempts !== 'number') return null;
    return { id: identifier, attempt: attempts + lease.attempt, lease };
  } catch {
    return null;
  }
}
