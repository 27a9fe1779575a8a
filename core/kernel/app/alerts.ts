/** The types of alerts. `longshore/alerts` makes them, so that an app without alerts does not load their code. */

import type { Clock } from '../../base/clock.ts';
import type { AlertSeverity, Events } from '../../base/events.ts';
import type { QueueStats } from '../../contract/admin.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { Stores, WorkerBeat } from '../../contract/store.ts';
import type { KeyRing } from '../../envelope/signing.ts';
import type { StoppedJob } from './breaker.ts';
import type { Job } from './job.ts';
import type { Schedule } from './schedule.ts';
import type { LateStoredSchedules } from './stored-schedule.ts';

/** The members of a client that an evaluation uses. */
export interface AlertHost {
  readonly app: {
    readonly clock: Clock;
    readonly events: Events;
    readonly newId: () => string;
    readonly jobs: ReadonlyMap<string, Job>;
    readonly queues: readonly string[];
    readonly schedules: readonly Schedule[];
    readonly keyRing: () => KeyRing;
  };
  readonly backend: QueueBackend;
  readonly stores: Stores;
}

/** Attempts of a queue that ended in a span of time. */
export interface AttemptNumbers {
  readonly queue: string;
  readonly attempts: number;
  /** Attempts that failed, whether the job is retried or became a dead letter. */
  readonly failed: number;
  /** Jobs that became dead letters. */
  readonly dead: number;
}

export interface ScheduleLateness {
  readonly schedule: string;
  /** How long its next run has been due, ms; 0 = not due. `null` = no tick has ever looked at the schedule. */
  readonly lateMs: number | null;
}

/** The facts that a condition can ask for. Each is fetched once per evaluation. Rejects after 10 s. */
export interface AlertFacts {
  /** Epoch ms, by the queue's own clock if it has one. */
  readonly now: number;
  /** The queues that the app's jobs name. */
  readonly queues: readonly string[];
  /** Names of the app's jobs that have a breaker. */
  readonly breakers: readonly string[];
  readonly backend: string;
  stats(): Promise<readonly QueueStats[]>;
  /** Attempts of the last `spanMs`, per queue. Rejects with `CONFIG` if no metrics are kept. */
  attempts(spanMs: number): Promise<readonly AttemptNumbers[]>;
  /** Healthy workers; `null` = functions run the jobs, which have no heartbeat. */
  workers(): Promise<readonly WorkerBeat[] | null>;
  /** Schedules declared in code. */
  schedules(): Promise<readonly ScheduleLateness[]>;
  /** Schedules made at run time that have been due for more than `mostLateMs`. Empty if the backend keeps none. */
  lateSchedules(mostLateMs: number): Promise<LateStoredSchedules>;
  /** Jobs that are paused, and those whose breaker is open. */
  stopped(): Promise<readonly StoppedJob[]>;
}

/** The current state of one queue, schedule or job, as a rule sees it. */
export interface AlertReading {
  /** The queue, the schedule or the job; empty for the whole app. */
  readonly subject: string;
  /** Whether the condition holds; `null` = the backend cannot tell. */
  readonly holds: boolean | null;
  /** The number that was compared with the limit. */
  readonly value: number | null;
  /** For people: `"mail" has 1,204 jobs waiting, more than 1,000`. If `holds` is `null`, the reason. */
  readonly text: string;
}

export interface AlertRule {
  readonly name: string;
  readonly severity: AlertSeverity;
  /** The alert fires once the condition has held for this long. */
  readonly forMs: number;
  /** The condition, for people: `more than 1,000 jobs wait`. */
  readonly summary: string;
  /** Evaluated even while the key store does not answer. */
  readonly needsNoStore?: true;
  read(facts: AlertFacts): Promise<readonly AlertReading[]>;
}

/** An alert that began, ended, or is repeated as a reminder. */
export interface AlertNotice {
  readonly alert: string;
  readonly severity: AlertSeverity;
  readonly state: 'firing' | 'resolved' | 'test';
  readonly subject: string;
  readonly value: number | null;
  readonly text: string;
  /** When the condition began to hold, epoch ms. */
  readonly since: number;
  /** When this notice was made, epoch ms. */
  readonly at: number;
  readonly reminder: boolean;
}

export interface AlertTarget {
  readonly name: string;
  /** Sends only notices of this severity. @default all */
  readonly severity?: AlertSeverity;
  /** Resolves once the target has accepted the notices. After 5 s `signal` aborts; the call is repeated at the earliest a minute later. */
  send(notices: readonly AlertNotice[], call: AlertCall): Promise<unknown>;
}

export interface AlertCall {
  readonly signal: AbortSignal;
  /** Epoch ms. */
  readonly now: number;
}

/** A condition as it is now, with its stored state. */
export interface AlertRow
  extends Omit<AlertReading, 'holds'>,
    Pick<AlertRule, 'severity' | 'forMs' | 'summary'> {
  readonly alert: string;
  /** `pending`: the condition holds, but not yet for `forMs`. `unknown`: it cannot be evaluated; `text` says why. */
  readonly state: 'ok' | 'pending' | 'firing' | 'unknown';
  /** Since when the condition holds, epoch ms. */
  readonly since: number | null;
}

export interface AlertStates {
  /** When they were last evaluated, epoch ms; `null` = never, or an evaluation is in progress. */
  readonly evaluatedAt: number | null;
  /** One per rule and subject. A rule without a subject here has none. */
  readonly alerts: readonly AlertRow[];
}

export interface Alerts {
  /** Names the stored state of the alerts: apps that share a store need different names. */
  readonly name: string;
  readonly rules: readonly AlertRule[];
  readonly to: readonly AlertTarget[];
  readonly remindMs: number | null;
  /**
   * Evaluates every rule and sends what has changed. Over all hosts that call it, this happens once a minute. Rejects only when the key
   * store fails.
   * @param where `function`: jobs run in functions, which keep no heartbeat
   */
  evaluate(client: AlertHost, where: 'worker' | 'function'): Promise<void>;
  /** Looks at each condition. Changes and sends nothing. */
  states(client: AlertHost): Promise<AlertStates>;
}
