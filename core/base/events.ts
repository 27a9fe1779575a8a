/** The events of Longshore, as plain objects. None of them contains a payload. */

import type { LongshoreError } from './errors.ts';

/** How one attempt ended. */
export type Outcome = 'acked' | 'requeued' | 'dead-lettered' | 'rejected' | 'skipped-idempotent';

export interface JobFacts {
  readonly id: string;
  readonly job: string;
  readonly queue: string;
  readonly attempt: number;
  readonly tenantId: string | null;
  /** The actor that caused the job. */
  readonly actorId: string | null;
  /** Id of the request that caused the job, from its context. */
  readonly requestId: string | null;
  /** W3C Trace Context. */
  readonly traceparent: string | null;
}

/** `asked`: an operator asked it to drain. `orphaned`: npm started the process, and npm has ended. */
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
  /** The queue or the schedule; empty = the whole app. */
  readonly subject: string;
  readonly value: number | null;
  readonly message: string;
}

export type LongshoreEvent =
  | {
      /** For counters: no log prints it. In a transaction it is emitted before the commit. Not emitted for a job that exists already. */
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
      /** `false` = the lease was lost, so this outcome had no effect. */
      readonly settled: boolean;
      /** `false` = released as if the attempt had never begun. */
      readonly counted: boolean;
      readonly durationMs: number;
      /** How long the job was ready before its first attempt began; `null` for later attempts and for a refused one. */
      readonly waitMs: number | null;
      /** For `requeued`: the delay until the next attempt. */
      readonly delayMs: number | null;
      readonly reason: string | null;
      /** For `requeued` without an error: the reason of the wait, in words. */
      readonly waits: string | null;
      readonly error: string | null;
      /** The thrown value, with its stack and cause; `null` = none was thrown. */
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
      /** A tick has enqueued all jobs of the schedule that were due up to `at`; there may be none. */
      readonly type: 'schedule.checked';
      readonly schedule: string;
      readonly at: number;
    }
  | { readonly type: 'schedule.failed'; readonly schedule: string; readonly error: LongshoreError }
  | {
      /**
       * Times for which no job was enqueued: the last job was unfinished (`overlap`), no tick came in time (`missed`), or the schedule was
       * paused.
       */
      readonly type: 'schedule.skipped';
      readonly schedule: string;
      readonly reason: 'overlap' | 'missed' | 'paused';
      /** The first and the last of these times. */
      readonly dueAt: number;
      readonly lastDueAt: number;
      /** How many times; counted up to 10,000. */
      readonly count: number;
    }
  | {
      /** No tick came for a long time: the job that was due at `dueAt` is enqueued only now. */
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
      /** The probe has succeeded: the waiting jobs run again. */
      readonly type: 'breaker.closed';
      readonly job: string;
    }
  | {
      /** The first failure of a series. Further failures are not reported until a ping has succeeded. */
      readonly type: 'ping.failed';
      readonly schedule: string;
      readonly ping: 'start' | 'success' | 'fail';
      readonly error: LongshoreError;
    }
  | { readonly type: 'ping.recovered'; readonly schedule: string; readonly failures: number }
  | ({ readonly type: 'alert.firing' } & AlertFacts)
  | ({ readonly type: 'alert.resolved'; readonly afterMs: number } & AlertFacts)
  | {
      /** Alerts that cannot be evaluated, and why. Emitted when that begins, and when a process starts. */
      readonly type: 'alert.unavailable';
      /** Names of the alerts, separated by commas. */
      readonly alert: string;
      readonly message: string;
    }
  | {
      /** A target does not accept notices; they are sent again later. Emitted for the first failure of a series. */
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
      /** A store could not be written. The jobs are not affected. */
      readonly type: 'store.failed';
      readonly during: string;
      readonly ids: readonly string[];
      readonly error: LongshoreError;
    }
  | {
      /** A backend did not answer, so its new jobs went to another one. */
      readonly type: 'enqueue.failed-over';
      /** The names from `connect()`. */
      readonly backend: string;
      readonly to: string;
      readonly ids: readonly string[];
      /** The error of the first message. */
      readonly error: LongshoreError;
    }
  | {
      /** The target refuses a message of the outbox. It is kept among the outbox's refused messages. */
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
      /** The app's `onError` or `onDeadLetter` has thrown, hangs, or has too many calls in progress. Reported once for each. */
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
  /** `false` = there are no listeners. Hot paths check it before they build an event. */
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
          if (returned instanceof Promise) returned.catch(() => {}); // nor may a rejection end the process
        } catch {
          // A broken log sink must not fail a job whose work is done.
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
  // Without a listener the process prints it, so that it is not lost.
  else process.emitWarning(message, { code: 'LONGSHORE_BACKEND' });
}

/** Whether the job only waits for a slot, a time or an event: it has not failed, and no attempt was spent. */
export const isWait = (event: Extract<LongshoreEvent, { type: 'job.settled' }>): boolean =>
  event.settled && event.outcome === 'requeued' && !event.counted && event.error === null;
