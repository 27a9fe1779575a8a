/**
 * The JSON API between the page and its server, under `api/` beside the page. Both are in one package, so the API may change with any
 * release. Programs use `longshore/operator` instead.
 *
 * GET  api/session                         Session
 * GET  api/overview?last=live|hour|day|month   Overview
 * GET  api/queues                          Rows<QueueView>
 * GET  api/limits?prefix&max&after         LimitPage
 * GET  api/stopped                         Rows<StoppedView>
 * GET  api/jobs?…                          JobList         filter members of RecordFilter by their names, `max`, `after`
 * GET  api/jobs/:id?whole=true             JobDetail       `whole`: also a payload that is very large
 * GET  api/batches?max&after               BatchList
 * GET  api/batches/:id                     BatchDetail
 * GET  api/batches/:id/children?state=all|failed|open&max&after   BatchChildPage
 * GET  api/chains/:id                      ChainView
 * GET  api/dead/groups?…                   DeadLetterGroups  filter members of DeadLetterFilter by their names
 * GET  api/dead?…                          DeadLetterItems   the same, `max`, `after`
 * GET  api/dead/:id?whole=true             DeadLetterView  `whole` as above
 * GET  api/schedules                       Rows<ScheduleView>  those in code
 * GET  api/stored-schedules?from&max&after StoredScheduleList  those made at run time, by name
 * GET  api/schedules/:name                 ScheduleDetail  of both kinds
 * GET  api/workers                         Rows<WorkerView>
 * GET  api/alerts                          Rows<AlertRow>
 * GET  api/audit?max&after                 AuditPage
 * GET  api/capabilities                    Rows<Capability>
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
 * With several backends lists cover all of them, and rows have `backend`. `?backend=fast` is for one of them, also with a POST.
 * Data that a backend does not have is answered with 200 and an Unavailable. Errors are problem+json as in core/surfaces/http. Every POST
 * needs `content-type: application/json` and the header `x-longshore-token` with the token of the session.
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
import type { OfOne, OfSeveral } from '../../routing/each.ts';

export type { BatchChild, BatchChildPage, BatchDetail } from '../../features/batches/show.ts';

/** Replaces data that the backend does not have. */
export interface Unavailable {
  /** The reason, and what to do about it. */
  readonly unavailable: string;
  /** Size of a payload that is only sent with `whole=true`. */
  readonly characters?: number;
}

export type { OfOne, OfSeveral };

/** A list that is sent whole. */
export interface Rows<T> extends OfSeveral {
  readonly rows: readonly OfOne<T>[];
}

export interface Session {
  readonly actor: string;
  /** A reader may look but not change anything. */
  readonly role: 'operator' | 'reader';
  /** For the header `x-longshore-token`. Valid for this session and some hours; after a 403 with code TOKEN, request a new one. */
  readonly token: string;
  readonly backend: string;
  /** The names of the backends, if there are several; otherwise empty. */
  readonly backends: readonly string[];
  readonly app: {
    readonly jobs: readonly string[];
    readonly queues: readonly string[];
    readonly schedules: readonly string[];
  };
  /** Faults that can be caused; empty outside development. */
  readonly faults: readonly FaultInfo[];
  /** Whether `api/events` is available. */
  readonly streams: boolean;
}

export interface FaultInfo {
  readonly name: string;
  readonly label: string;
  /** Tells the user what to watch afterwards. */
  readonly text: string;
}

export interface FaultResult {
  readonly message: string;
}

/** The current state of all backends. It is cheap enough to read every two seconds. */
export interface Live extends OfSeveral {
  readonly at: number;
  readonly queues: readonly OfOne<LiveQueue>[];
  readonly workers: {
    readonly healthy: number;
    readonly unhealthy: number;
    readonly running: number;
    readonly concurrency: number;
  };
  /** Rates of all queues over the last minute; `null` = no metrics are kept. */
  readonly rates: LiveRates | null;
  /** Why no backend did answer. The other members are then the last known ones. `null` = it answered. */
  readonly error: string | null;
}

export interface LiveRates {
  readonly donePerMinute: number;
  readonly failedPerMinute: number;
  readonly retriedPerMinute: number;
}

export interface LiveQueue extends QueueStats {
  readonly rates: (LiveRates & { readonly waitP95Ms: number | null }) | null;
  /** Number of workers that serve the queue; `null` = not known. */
  readonly workers: number | null;
}

export interface Overview extends OfSeveral {
  readonly live: Live;
  /** For `last=live` these are of the last hour. */
  readonly numbers:
    | {
        readonly all: JobNumbers;
        readonly series: readonly MetricPoint[];
        readonly jobs: readonly JobReport[];
      }
    | Unavailable;
  /** Empty if no limits are kept. */
  readonly stopped: readonly OfOne<StoppedView>[];
}

/** A job of the app that is stopped: it is paused, or its breaker is open. */
export type StoppedView = StoppedJob;

export interface QueueView extends LiveQueue {
  /** The app's jobs whose default queue this is. */
  readonly jobs: readonly string[];
}

/** Without stacks, logs and outputs. */
export type JobItem = Omit<JobRecord, 'attempts' | 'output'> & {
  readonly runs: number;
  readonly worker: string | null;
  /** Says what a sleeping job waits for, and until when; `null` = it is not sleeping. */
  readonly sleeps: string | null;
};

export interface JobList extends OfSeveral {
  readonly jobs: readonly OfOne<JobItem>[];
  readonly next: string | null;
}

export interface JobDetail {
  readonly record: JobRecord;
  readonly payload: StoredPayload | Unavailable;
  /** Id of the worker that runs it, from the heartbeats; `null` = not running, or not known. */
  readonly runningOn: string | null;
  /** Whether it is a dead letter: see `api/dead/:id`. */
  readonly dead: boolean;
  /** Whether the backend finds waiting jobs by id. If so, this job can be promoted or removed while it waits. */
  readonly changeable: boolean;
  /** Reasons why it waits; empty unless it waits. */
  readonly waits: readonly string[];
  /** For a waiting job: set if its name is paused or its breaker is open. */
  readonly stopped: readonly StoppedView[];
  /** Its role in a batch; `null` = none. */
  readonly batch: BatchRole | null;
  /** Its stored steps. Empty for a job without steps, or one that has completed. */
  readonly steps: readonly StepView[];
  /** Why some steps are left out; `null` = none are. */
  readonly stepsProblem: string | null;
}

export interface BatchList extends OfSeveral {
  readonly batches: readonly OfOne<Batch>[];
  readonly next: string | null;
}

/** A chain without the outputs of its jobs. */
export interface ChainView extends Omit<Chain, 'links'> {
  readonly links: readonly (Omit<ChainLinkView, 'jobs'> & {
    readonly jobs: readonly {
      readonly id: string;
      readonly job: string;
      /** `null` = not enqueued yet, or its record has been deleted. */
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
  /** Its cron pattern or interval. */
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

/** A schedule that was made at run time. */
export type StoredScheduleView = Omit<ScheduleView, 'last'> & {
  readonly tenantId: string | null;
  /** Why the last attempt to enqueue its job failed; `null` = it did not. */
  readonly failure: string | null;
};

export interface StoredScheduleList extends OfSeveral {
  readonly schedules: readonly StoredScheduleView[];
  readonly next: string | null;
}

export interface ScheduleDetail extends ScheduleView {
  /** `null` = the schedule is in code. */
  readonly stored: {
    readonly tenantId: string | null;
    readonly createdAt: number;
    readonly changedAt: number;
    readonly failure: string | null;
    readonly payload: unknown;
  } | null;
  /** The next ten runs; empty if it is paused. */
  readonly next: readonly number[];
  readonly history: ScheduleHistory | Unavailable;
}

export interface WorkerView extends WorkerBeat {
  readonly state: WorkerHealth;
  readonly jobs: readonly RunningJob[];
  /** It was asked to stop, and still runs jobs. */
  readonly draining: boolean;
}

export type { AlertRow } from '../../kernel/app/alerts.ts';

export interface Capability {
  readonly name: string;
  readonly value: string;
}

export type BulkRequest = DeadLetterSelection & Omit<RetryOptions, 'signal' | 'onProgress'>;

export interface Done {
  readonly message: string;
  /** Id of the job that was enqueued. */
  readonly id?: string;
}
