/** Every feature of a job. One that is missing in this table does not compile, or its options are not in `featureOf`. */

import type { JobDefinition } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { QueueOptions } from '../../../core/kernel/app/queues.ts';
import type { StandardSchema } from '../../../core/kernel/app/schema.ts';
import type { StoredScheduleDefinition } from '../../../core/kernel/app/stored-schedule.ts';
import type { Feature } from './feature.ts';
import * as flows from './features-flows.ts';
import * as limits from './features-limits.ts';
import * as sending from './features-sending.ts';

export const features = {
  delay: sending.delay,
  priority: sending.priority,
  expiry: sending.expiry,
  'idempotency key': sending.idempotencyKey,
  'unique while waiting': sending.uniqueWhileWaiting,
  'unique while running': sending.uniqueWhileRunning,
  'unique while waiting or running': sending.uniqueUntilEnded,
  'unique for a time': sending.throttle,
  debounce: sending.debounce,
  rate: limits.rate,
  concurrency: limits.concurrency,
  'concurrency by key': limits.concurrencyByKey,
  single: limits.single,
  'groups that take turns': limits.fairGroups,
  'a group in order': limits.groupThatWaits,
  'a group in order that steps aside': limits.groupThatStepsAside,
  breaker: limits.breaker,
  'pause of a queue': limits.pauseOfQueue,
  'pause of a job': limits.pauseOfJob,
  batch: flows.batch,
  'batch with allowed failures': flows.batchWithFailures,
  'nested batch': flows.nestedBatch,
  'chain with fan-in': flows.chainWithFanIn,
  'steps with sleep': flows.stepsWithSleep,
  'steps with an idempotency key': flows.stepsWithKey,
  waitFor: flows.waitFor,
  'stored schedule': flows.storedSchedule,
  'overlap: skip': flows.overlapSkip,
  transaction: flows.transaction,
  'offloaded payload': sending.offloadedPayload,
  'retention of 0': sending.retentionOfZero,
  'labels and tenant': sending.labelsAndTenant,
} satisfies Readonly<Record<string, Feature>>;

export type FeatureName = keyof typeof features;

type Option =
  | keyof JobDefinition<StandardSchema>
  | keyof EnqueueOptions
  | keyof QueueOptions
  | keyof StoredScheduleDefinition<unknown>;

/** An option that the product gets does not compile until it is said here which feature it belongs to, or why it meets nothing. */
export const featureOf: Readonly<Record<Option, FeatureName | `none, because ${string}`>> = {
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
};
