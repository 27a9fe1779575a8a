/** Longshore: background jobs written once. Everything portable is here; a backend comes from its own subpath. */

export type { App, AppOptions } from './app.ts';
export { createApp } from './app.ts';
export type { Client, ConnectOptions, EnqueuedJob, EnqueueOptions } from './client.ts';
export { connect } from './client.ts';
export { currentContext, withContext } from './context.ts';
export type * as Contract from './contract.ts';
export type { JobContext } from './envelope.ts';
export { LongshoreError, PermanentError, RetryAfterError } from './errors.ts';
export type { LongshoreEvent } from './events.ts';
export type { HandlerContext, Job } from './job.ts';
export { defineJob } from './job.ts';
export { delays, exponential, fixed, none, perError, type RetryPolicy } from './retry.ts';
export { defineSchedule, type Schedule } from './schedule.ts';
export { keyRing, parseSigningKeys } from './signing.ts';
export type { JobRecord } from './store.ts';
export { tick } from './tick.ts';
export { startWorker, type Worker } from './worker.ts';
export type { WorkerOptions, WorkerSummary } from './worker-options.ts';
