/**
 * What the page asks of the server, and what it is answered: JSON under `api/` beside the page. The page and its server are of one
 * package, so these shapes may change with any release; programs use `longshore/operator`.
 *
 * GET  api/session                         Session
 * GET  api/overview?last=live|hour|day|month   Overview
 * GET  api/queues                          QueueView[]
 * GET  api/limits?prefix&max&after         LimitPage
 * GET  api/stopped                         StoppedView[]
 * GET  api/jobs?…                          JobList         filter members of RecordFilter by their names, `max`, `after`
 * GET  api/jobs/:id?whole=true             JobDetail       `whole`: also a payload that is very large
 * GET  api/batches?max&after               BatchList
 * GET  api/batches/:id                     BatchDetail
 * GET  api/batches/:id/children?state=all|failed|open&max&after   BatchChildPage
 * GET  api/chains/:id                      ChainView
 * GET  api/dead/groups?…                   DeadLetterGroups  filter members of DeadLetterFilter by their names
 * GET  api/dead?…                          DeadLetterItems   the same, `max`, `after`
 * GET  api/dead/:id?whole=true             DeadLetterView  `whole` as above
 * GET  api/schedules                       ScheduleView[]  those in code
 * GET  api/stored-schedules?from&max&after StoredScheduleList  those made at run time, by name
 * GET  api/schedules/:name                 ScheduleDetail  of both kinds
 * GET  api/workers                         WorkerView[]
 * GET  api/alerts                          AlertRow[]
 * GET  api/audit?max&after                 AuditPage
 * GET  api/capabilities                    Capability[]
 * GET  api/events                          text/event-stream: `event: live`, `data:` a Live, every 2 s; `retry: 2000`
 * GET  api/live                            Live, for who cannot hold a stream
 * POST api/queues/:name/{pause,resume,clear}     Done
 * POST api/limits/reset                    body: { key }; Done
 * POST api/stopped/:name/{pause,resume,close-breaker}  Done   `name` of a job of the app
 * POST api/jobs/:id/{cancel,promote,remove,run-again}  Done
 * POST api/batches/:id/{cancel,retry}      Done            `retry`: what failed
 * POST api/chains/:id/cancel               Done
 * POST api/dead/{retry,discard}            body: BulkRequest; NDJSON: a BulkProgress per line, then a BulkResult with `ended`
 * POST api/dead/:id/edit                   body: EditOptions; Done
 * POST api/schedules/:name/{run,pause,resume,remove}    Done    `remove`: one made at run time
 * POST api/workers/:id/drain                     Done
 * POST api/faults/:name                    body: {}; FaultResult   in development only
 *
 * What a backend cannot tell is answered with 200 and an Unavailable. Errors are problem+json as in core/surfaces/http. Every POST needs
 * `content-type: application/json` and the header `x-longshore-token` with the token of the session.
 */

import type { QueueStats } from '../../contract/admin.ts';
import type { JobRecord, RunningJob, WorkerBeat } from '../../contract/store.ts';
import type { BatchRole } from '../../features/batches/show.ts';
import type { ScheduleHistory } from '../../features/schedules/history.ts';
import type { StepView } from '../../features/steps/show.ts';
import type { Batch } from '../../kernel/app/batch.ts';
import type { StoppedJob } from '../../kernel/app/breaker.ts';
import type { Chain, ChainLinkView } from '../../kernel/app/chain.ts';
import type { JobNumbers, JobReport, MetricPoint } from '../../kernel/app/metric-report.ts';
import type { StoredPayload } from '../../kit/records/payload.ts';
import type { WorkerHealth } from '../../kit/worker-state.ts';
import type { DeadLetterDetail, DeadLetterSelection, RetryOptions } from '../../operations/types.ts';

export type { BatchChild, BatchChildPage, BatchDetail } from '../../features/batches/show.ts';

/** Instead of what was asked for. */
export interface Unavailable {
  /** Why, in words, and what to do about it. */
  readonly unavailable: string;
  /** Of a payload that is sent with `whole=true` only: how large it is. */
  readonly characters?: number;
}

export interface Session {
  readonly actor: string;
  /** A reader changes nothing. */
  readonly role: 'operator' | 'reader';
  /** For the header `x-longshore-token`. Good for this session and some hours; a 403 with code TOKEN says to ask for another. */
  readonly token: string;
  readonly backend: string;
  readonly app: {
    readonly jobs: readonly string[];
    readonly queues: readonly string[];
    readonly schedules: readonly string[];
  };
  /** Names of the faults that can be caused; empty outside development. */
  readonly faults: readonly FaultInfo[];
  /** Whether `api/events` streams here. */
  readonly streams: boolean;
}

export interface FaultInfo {
  readonly name: string;
  readonly label: string;
  /** What to watch after it. */
  readonly text: string;
}

export interface FaultResult {
  readonly message: string;
}

/** The state of this moment, cheap enough for every two seconds. */
export interface Live {
  readonly at: number;
  readonly queues: readonly LiveQueue[];
  readonly workers: {
    readonly healthy: number;
    readonly unhealthy: number;
    readonly running: number;
    readonly concurrency: number;
  };
  /** Of all queues, by the numbers of the last minute; `null` where none are kept. */
  readonly rates: LiveRates | null;
  /** The backend did not answer: what was known last is shown. */
  readonly error: string | null;
}

export interface LiveRates {
  readonly donePerMinute: number;
  readonly failedPerMinute: number;
  readonly retriedPerMinute: number;
}

export interface LiveQueue extends QueueStats {
  readonly rates: (LiveRates & { readonly waitP95Ms: number | null }) | null;
  /** How many take jobs of it; `null` where workers are not known. */
  readonly workers: number | null;
}

export interface Overview {
  readonly live: Live;
  /** `last=live` is answered with the last hour. */
  readonly numbers:
    | {
        readonly all: JobNumbers;
        readonly series: readonly MetricPoint[];
        readonly jobs: readonly JobReport[];
      }
    | Unavailable;
  /** None where no limits are kept. */
  readonly stopped: readonly StoppedView[];
}

/** Jobs of one name, of which none begins. */
export type StoppedView = StoppedJob;

export interface QueueView extends LiveQueue {
  /** Names of the jobs of the app that are enqueued here by default. */
  readonly jobs: readonly string[];
}

/** Without stacks, logs and outputs. */
export type JobItem = Omit<JobRecord, 'attempts' | 'output'> & {
  readonly runs: number;
  readonly worker: string | null;
  /** That it sleeps or waits for an event, and until when, in words; `null` = it does not. */
  readonly sleeps: string | null;
};

export interface JobList {
  readonly jobs: readonly JobItem[];
  readonly next: string | null;
}

export interface JobDetail {
  readonly record: JobRecord;
  readonly payload: StoredPayload | Unavailable;
  /** Where it runs now, as far as heartbeats say. */
  readonly runningOn: string | null;
  /** It is a dead letter: see `api/dead/:id`. */
  readonly dead: boolean;
  /** The backend finds jobs that wait by their ids: this one can be promoted or removed while it does. */
  readonly changeable: boolean;
  /** Why it waits, in words; empty unless it does. */
  readonly waits: readonly string[];
  /** Of one that waits: whether its name is paused, and whether its breaker is open. */
  readonly stopped: readonly StoppedView[];
  /** What it is to a batch; `null` = nothing. */
  readonly batch: BatchRole | null;
  /** What it remembers: empty for a job that has no steps, or has ended well. */
  readonly steps: readonly StepView[];
}

export interface BatchList {
  readonly batches: readonly Batch[];
  readonly next: string | null;
}

/** Without what handlers have returned. */
export interface ChainView extends Omit<Chain, 'links'> {
  readonly links: readonly (Omit<ChainLinkView, 'jobs'> & {
    readonly jobs: readonly {
      readonly id: string;
      readonly job: string;
      /** `null` = it was not enqueued yet, or is no longer kept. */
      readonly record: Pick<JobRecord, 'status' | 'error' | 'createdAt' | 'finishedAt'> | null;
    }[];
  })[];
}

export type DeadLetterView = Omit<DeadLetterDetail, 'payload'> & {
  readonly payload: StoredPayload | Unavailable;
};

export interface ScheduleView {
  readonly name: string;
  readonly job: string;
  /** Its pattern or its interval, as it was given. */
  readonly when: string;
  readonly timezone: string | null;
  readonly overlap: string;
  readonly missed: string;
  readonly paused: boolean;
  readonly nextAt: number | null;
  readonly last: {
    readonly id: string;
    readonly dueAt: number;
    readonly status: string;
    readonly slow: boolean;
  } | null;
}

/** One that was made at run time. */
export type StoredScheduleView = Omit<ScheduleView, 'last'> & {
  readonly tenantId: string | null;
  /** Why its job could not be enqueued at the last try. */
  readonly failure: string | null;
};

export interface StoredScheduleList {
  readonly schedules: readonly StoredScheduleView[];
  readonly next: string | null;
}

export interface ScheduleDetail extends ScheduleView {
  /** `null` = it is in code. */
  readonly stored: {
    readonly tenantId: string | null;
    readonly createdAt: number;
    readonly changedAt: number;
    readonly failure: string | null;
    readonly payload: unknown;
  } | null;
  /** The next ten; none of one that is paused. */
  readonly next: readonly number[];
  readonly history: ScheduleHistory | Unavailable;
}

export interface WorkerView extends WorkerBeat {
  readonly state: WorkerHealth;
  readonly jobs: readonly RunningJob[];
  /** It was asked to stop, and has jobs that still run. */
  readonly draining: boolean;
}

export type { AlertRow } from '../../features/alerts/show.ts';

export interface Capability {
  readonly name: string;
  readonly value: string;
}

export type BulkRequest = DeadLetterSelection & Omit<RetryOptions, 'signal' | 'onProgress'>;

export interface Done {
  readonly message: string;
  /** Of the job that was enqueued. */
  readonly id?: string;
}
