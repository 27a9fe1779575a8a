/** Samples of every feature, and of every option. */

import type { Crossed } from '../../../core/features/all-crossings.ts';
import type { JobDefinition } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { QueueOptions } from '../../../core/kernel/app/queues.ts';
import type { StandardSchema } from '../../../core/kernel/app/schema.ts';
import type { StoredScheduleDefinition } from '../../../core/kernel/app/stored-schedule.ts';
import type { Sample } from './sample.ts';
import * as beside from './samples-beside.ts';
import * as flows from './samples-flows.ts';
import * as limits from './samples-limits.ts';
import * as sending from './samples-sending.ts';

/** Samples by feature. A feature without a sample does not compile. */
export const samples = {
  jobs: {
    delay: sending.delay,
    priority: sending.priority,
    expiry: sending.expiry,
    'pause of a queue': limits.pauseOfQueue,
    'labels and tenant': sending.labelsAndTenant,
  },
  groups: {
    'groups that take turns': limits.fairGroups,
    'a group in order': limits.groupThatWaits,
    'a group in order that steps aside': limits.groupThatStepsAside,
  },
  limits: {
    rate: limits.rate,
    concurrency: limits.concurrency,
    'concurrency by key': limits.concurrencyByKey,
    single: limits.single,
    breaker: limits.breaker,
    'pause of a job': limits.pauseOfJob,
  },
  unique: {
    'unique while waiting': sending.uniqueWhileWaiting,
    'unique while running': sending.uniqueWhileRunning,
    'unique while waiting or running': sending.uniqueUntilEnded,
    'unique for a time': sending.throttle,
    debounce: sending.debounce,
  },
  idempotency: { 'idempotency key': sending.idempotencyKey },
  payloads: { 'offloaded payload': sending.offloadedPayload },
  records: { 'retention of 0': sending.retentionOfZero },
  chains: { 'chain with fan-in': flows.chainWithFanIn },
  batches: {
    batch: flows.batch,
    'batch with allowed failures': flows.batchWithFailures,
    'nested batch': flows.nestedBatch,
  },
  steps: {
    'steps with sleep': flows.stepsWithSleep,
    'steps with an idempotency key': flows.stepsWithKey,
    waitFor: flows.waitFor,
  },
  schedules: { 'stored schedule': flows.storedSchedule, 'overlap: skip': flows.overlapSkip },
  transactions: { transaction: flows.transaction },
  sandbox: { 'isolated job': beside.isolated },
  alerts: { alert: beside.alerted },
  pings: { ping: beside.pinged },
  logs: { 'lines of a handler': beside.logged },
  metrics: { numbers: beside.counted },
} satisfies Readonly<Record<Crossed, Readonly<Record<string, Sample>>>>;

type NamesIn<All> = All extends Readonly<Record<infer Name, Sample>> ? Name : never;
export type SampleName = NamesIn<(typeof samples)[Crossed]>;

type Option =
  | keyof JobDefinition<StandardSchema>
  | keyof EnqueueOptions
  | keyof QueueOptions
  | keyof StoredScheduleDefinition<unknown>;

/** Names the sample of every option, or the reason for none. A new option does not compile until it is listed here. */
export const sampleOf: Readonly<Record<Option, SampleName | `none, because ${string}`>> = {
  name: 'labels and tenant',
  context: 'labels and tenant',
  queue: 'none, because every job has one',
  backend: 'none, because failover and the process without a backend are events',
  backends: 'none, because failover and the process without a backend are events',
  payload: 'none, because every job has one',
  handle: 'none, because every job has one',
  use: 'none, because middleware stands inside an attempt, and events stand outside',
  maxRetries: 'none, because the dead letters are events',
  retry: 'none, because the dead letters are events',
  timeoutMs: 'none, because it ends an attempt as a throw does',
  keepPayload: 'retention of 0',
  retention: 'retention of 0',
  delayMs: 'delay',
  runAt: 'delay',
  priority: 'priority',
  expiresInMs: 'expiry',
  idempotencyKey: 'idempotency key',
  idempotencyKeepMs: 'idempotency key',
  unique: 'unique while waiting or running',
  debounce: 'debounce',
  rate: 'rate',
  concurrency: 'concurrency',
  maxLength: 'none, because it refuses before anything is sent',
  single: 'single',
  breaker: 'breaker',
  group: 'groups that take turns',
  order: 'a group in order',
  transaction: 'transaction',
  tx: 'transaction',
  job: 'stored schedule',
  cron: 'stored schedule',
  everyMs: 'stored schedule',
  timezone: 'stored schedule',
  missed: 'stored schedule',
  overlap: 'overlap: skip',
  until: 'stored schedule',
  limit: 'stored schedule',
};
