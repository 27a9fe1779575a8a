/** Everything Longshore reports is one of these plain objects. None of them holds a payload. */

import type { LongshoreError } from './errors.ts';

/** How one attempt ended. */
export type Outcome = 'acked' | 'requeued' | 'dead-lettered' | 'rejected' | 'skipped-idempotent';

export interface JobFacts {
  readonly id: string;
  readonly job: string;
  readonly queue: string;
  readonly attempt: number;
  readonly tenantId: string | null;
  /** Who caused it. */
  readonly actorId: string | null;
  /** The id of the request that caused the job, from its context. */
  readonly requestId: string | null;
  /** W3C Trace Context. */
  readonly traceparent: string | null;
}

/** `asked`: an operator wants it to drain. `orphaned`: npm has started the process, and has ended. */
export type StopReason =
  | 'signal'
  | 'asked'
  | 'orphaned'
  | 'stopped'
  | 'once'
  | 'idle'
  | 'max-jobs'
  | 'max-memory'
  | 'max-runtime'
  | 'backend-failed';

export type AlertSeverity = 'warning' | 'critical';

interface AlertFacts {
  readonly alert: string;
  readonly severity: AlertSeverity;
  /** The queue or the schedule; empty for the whole app. */
  readonly subject: string;
  readonly value: number | null;
  readonly message: string;
}

export type LongshoreEvent =
  | {
      /** For what counts: no log prints it. In a transaction it comes before the commit. Not for a job that was there already. */
      readonly type: 'job.enqueued';
      readonly id: string;
      readonly job: string;
      readonly queue: string;
      /** 0 (first) to 9 (last). */
      readonly priority: number;
      readonly tenantId: string | null;
    }
  | ({ readonly type: 'job.started' } & JobFacts)
  | ({
      readonly type: 'job.settled';
      readonly outcome: Outcome;
      /** `false`: the lease was lost, so this outcome changed nothing. */
      readonly settled: boolean;
      /** `false`: released as if the attempt had never begun. */
      readonly counted: boolean;
      readonly durationMs: number;
      /** How long the job was ready before its first attempt began. `null` for later attempts, and for one that was refused. */
      readonly waitMs: number | null;
      /** For `requeued`: how long until the next attempt. */
      readonly delayMs: number | null;
      readonly reason: string | null;
      /** For `requeued` without an error: what the job waits for, in words. */
      readonly waits: string | null;
      readonly error: string | null;
      /** The thrown value, with its stack and cause; `null` = nothing was thrown. */
      readonly cause: unknown;
    } & JobFacts)
  | ({
      readonly type: 'job.log';
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    } & JobFacts)
  | ({ readonly type: 'job.warning'; readonly message: string } & JobFacts)
  | {
      readonly type: 'schedule.enqueued';
      readonly schedule: string;
      readonly dueAt: number;
      readonly id: string;
    }
  | {
      /** A tick has enqueued all that the schedule owed up to `at`, be it nothing. */
      readonly type: 'schedule.checked';
      readonly schedule: string;
      readonly at: number;
    }
  | { readonly type: 'schedule.failed'; readonly schedule: string; readonly error: LongshoreError }
  | {
      /** Moments for which no job was enqueued: the last job was unfinished (`overlap`), nothing ticked in time (`missed`), or the schedule was paused. */
      readonly type: 'schedule.skipped';
      readonly schedule: string;
      readonly reason: 'overlap' | 'missed' | 'paused';
      /** The first and the last of them. */
      readonly dueAt: number;
      readonly lastDueAt: number;
      /** How many; counted up to 10,000. */
      readonly count: number;
    }
  | {
      /** Nothing has ticked for long: the first moment that was due is handled only now. */
      readonly type: 'schedule.late';
      readonly schedule: string;
      readonly dueAt: number;
      readonly lateMs: number;
    }
  | {
      /** Too many attempts of the job failed in a row, or the probe failed: no attempt starts for `openMs`. */
      readonly type: 'breaker.opened';
      readonly job: string;
      readonly failures: number;
      readonly openMs: number;
    }
  | {
      /** The one that was tried has succeeded: the others follow. */
      readonly type: 'breaker.closed';
      readonly job: string;
    }
  | {
      /** The first failure of a series: further ones are not reported until a ping has succeeded. */
      readonly type: 'ping.failed';
      readonly schedule: string;
      readonly ping: 'start' | 'success' | 'fail';
      readonly error: LongshoreError;
    }
  | { readonly type: 'ping.recovered'; readonly schedule: string; readonly failures: number }
  | ({ readonly type: 'alert.firing' } & AlertFacts)
  | ({ readonly type: 'alert.resolved'; readonly afterMs: number } & AlertFacts)
  | {
      /** Conditions that cannot be evaluated, and why: when that begins, and at the start of a process. */
      readonly type: 'alert.unavailable';
      /** Their names, with commas between. */
      readonly alert: string;
      readonly message: string;
    }
  | {
      /** The first of a series: a target does not take its notices. They are sent again later. */
      readonly type: 'alert.failed';
      readonly target: string;
      readonly error: LongshoreError;
    }
  | {
      readonly type: 'backend.failed';
      readonly backend: string;
      readonly during: string;
      readonly error: LongshoreError;
    }
  | {
      /** A record could not be written; the jobs themselves are not touched by that. */
      readonly type: 'store.failed';
      readonly during: string;
      readonly ids: readonly string[];
      readonly error: LongshoreError;
    }
  | {
      /** A backend did not answer, so another one has taken its new jobs. */
      readonly type: 'enqueue.failed-over';
      /** The names that `connect()` was given. */
      readonly backend: string;
      readonly to: string;
      readonly ids: readonly string[];
      /** The error of the first message. */
      readonly error: LongshoreError;
    }
  | {
      /** A message that its target will not take; it is kept among the refused ones of the outbox. */
      readonly type: 'outbox.refused';
      /** The target's name. */
      readonly backend: string;
      readonly id: string;
      readonly queue: string;
      readonly error: LongshoreError;
    }
  | {
      /** A danger to jobs: a server that evicts keys, dead letters over their budget, a missing store. */
      readonly type: 'backend.warning';
      readonly backend: string;
      readonly message: string;
    }
  | { readonly type: 'backend.recovered'; readonly backend: string; readonly afterMs: number }
  | {
      readonly type: 'worker.started';
      readonly worker: string;
      readonly backend: string;
      readonly queues: readonly string[];
      readonly concurrency: number;
    }
  | {
      readonly type: 'worker.draining';
      readonly worker: string;
      readonly reason: StopReason;
      readonly running: number;
    }
  | {
      readonly type: 'worker.stopped';
      readonly worker: string;
      readonly reason: StopReason;
      readonly counts: Readonly<Record<Outcome, number>>;
      readonly released: number;
    }
  | {
      readonly type: 'worker.reaped';
      readonly worker: string;
      readonly queue: string;
      readonly count: number;
    }
  | {
      readonly type: 'worker.memory';
      readonly worker: string;
      readonly rssBytes: number;
      readonly baselineBytes: number;
    }
  | {
      /** The app's own `onError` or `onDeadLetter` has thrown, hangs, or has too many calls under way. Reported once for each. */
      readonly type: 'hook.failed';
      readonly hook: 'onError' | 'onDeadLetter';
      readonly error: LongshoreError;
    }
  | { readonly type: 'key.development'; readonly path: string }
  | {
      /** A request was answered with a 5xx. The answer does not say why; this event does. */
      readonly type: 'http.failed';
      readonly method: string;
      readonly status: number;
      readonly requestId: string;
      readonly error: LongshoreError;
    };

export type EventListener = (event: LongshoreEvent) => void;

export interface Events {
  /** `false` when there is no listener: hot paths ask before they build an event. */
  readonly active: boolean;
  emit(event: LongshoreEvent): void;
  /** Returns a function that ends the subscription. */
  on(listener: EventListener): () => void;
}

export function createEvents(): Events {
  const listeners = new Set<EventListener>();
  return {
    get active() {
      return listeners.size > 0;
    },
    emit(event) {
      for (const listener of listeners) {
        try {
          const returned: unknown = listener(event);
          if (returned instanceof Promise) returned.catch(() => {}); // nor may it end the process
        } catch {
          // A broken log sink must not fail a job: the job's effect has already happened.
        }
      }
    },
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Emits `backend.warning`. */
export function tellWarning(events: Events, backend: string, message: string): void {
  if (events.active) events.emit({ type: 'backend.warning', backend, message });
  // Without a listener the process says it, because somebody should know.
  else process.emitWarning(message, { code: 'LONGSHORE_BACKEND' });
}

/** Whether the job only waits, for a slot, a moment or an event: nothing has failed, and nothing was spent. */
export const isWait = (event: Extract<LongshoreEvent, { type: 'job.settled' }>): boolean =>
  event.settled && event.outcome === 'requeued' && !event.counted && event.error === null;
