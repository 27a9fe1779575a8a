/** Longshore: background jobs written once. Everything portable is here; a backend comes from its own subpath. */

export type { App, AppOptions } from './app/app.ts';
export { createApp } from './app/app.ts';
export type { Batch, BatchEnd, Batches, BatchResults, BatchSummary } from './app/batch.ts';
export type { Chain, Chains, Link, StartedChain } from './app/chain.ts';
export { currentContext, withContext } from './app/context.ts';
export type { ReceivedEvent } from './app/durable.ts';
export type { HandlerContext, Job } from './app/job.ts';
export { defineJob } from './app/job.ts';
export type { Middleware } from './app/middleware.ts';
export type { EnqueuedJob, EnqueueOptions } from './app/options.ts';
export { delays, exponential, fixed, none, perError, type RetryPolicy } from './app/retry.ts';
export { defineSchedule, type Schedule } from './app/schedule.ts';
export type { Schedules, StoredScheduleInfo } from './app/stored-schedule.ts';
export { LongshoreError, PermanentError, RetryAfterError, SnoozeError } from './base/errors.ts';
export type { LongshoreEvent } from './base/events.ts';
export type * as Contract from './contract/index.ts';
export type { QueueBackend, SendResult } from './contract/queue.ts';
export type { CancelResult, JobRecord, PayloadStore, Stores } from './contract/store.ts';
export type { Client, ConnectOptions } from './enqueue/client.ts';
export type { JobContext } from './envelope/envelope.ts';
export { type KeyRing, keyRing, parseSigningKeys, type SigningKey } from './envelope/signing.ts';
export type { MetricReport, MetricRequest } from './metrics/report.ts';
export { connect } from './routing/connect.ts';
export { tick } from './scheduler/tick.ts';
export type { WorkerOptions, WorkerSummary } from './worker/options.ts';
export type { Worker } from './worker/state.ts';
export { startWorker } from './worker/worker.ts';
