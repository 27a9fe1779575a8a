/** Longshore: background jobs written once. Everything portable is here; a backend comes from its own subpath. */

export { LongshoreError, PermanentError, RetryAfterError, SnoozeError } from './base/errors.ts';
export type { LongshoreEvent } from './base/events.ts';
export type * as Contract from './contract/index.ts';
export type { QueueBackend, SendResult } from './contract/queue.ts';
export type { CancelResult, JobRecord, PayloadStore, Stores } from './contract/store.ts';
export type { JobContext } from './envelope/envelope.ts';
export { type KeyRing, keyRing, parseSigningKeys, type SigningKey } from './envelope/signing.ts';
export { tick } from './features/schedules/feature.ts';
export { createApp } from './features/table.ts';
export type { App, AppOptions } from './kernel/app/app.ts';
export type { Batch, BatchEnd, Batches, BatchResults, BatchSummary } from './kernel/app/batch.ts';
export type { Chain, Chains, Link, StartedChain } from './kernel/app/chain.ts';
export { currentContext, withContext } from './kernel/app/context.ts';
export type { ReceivedEvent } from './kernel/app/durable.ts';
export type { HandlerContext, Job, TransactionContext } from './kernel/app/job.ts';
export { defineJob } from './kernel/app/job.ts';
export type { MetricReport, MetricRequest } from './kernel/app/metric-report.ts';
export type { Middleware } from './kernel/app/middleware.ts';
export type { EnqueuedJob, EnqueueOptions } from './kernel/app/options.ts';
export { delays, exponential, fixed, noRetry, perError, type RetryPolicy } from './kernel/app/retry.ts';
export { defineSchedule, type Schedule } from './kernel/app/schedule.ts';
export type { Schedules, StoredScheduleInfo } from './kernel/app/stored-schedule.ts';
export type { Client, ConnectOptions } from './kernel/enqueue/client.ts';
export type { WorkerOptions, WorkerSummary } from './kernel/worker/options.ts';
export type { Worker } from './kernel/worker/state.ts';
export { connect } from './routing/connect.ts';
export { startWorker } from './routing/worker.ts';
