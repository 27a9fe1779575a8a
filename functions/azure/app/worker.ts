/**
 * Handles a message of Service Bus: runs its job, and returns when the host may complete the message. By then a job that must run again has been
 * sent as a copy. Throws if the message itself must be delivered again.
 */

import { hostname } from 'node:os';
import { checkInteger } from '../../../core/base/checks.ts';
import type { Clock } from '../../../core/base/clock.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { AttemptResult } from '../../../core/kernel/attempt/attempt.ts';
import { hooksEnded } from '../../../core/kernel/attempt/failure-hooks.ts';
import { endsWritten } from '../../../core/kernel/attempt/late-ends.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { startMaintenance } from '../../../core/serverless/invocation.ts';
import { countOf } from '../service-bus/message.ts';
import type { HostContext } from './http.ts';
import type { Running } from './instance.ts';
import { deliveryFrom } from './trigger.ts';

export interface WorkerOptions {
  /** The `functionTimeout` of host.json, after which the host kills the process. @default 1_800_000 (30 minutes) */
  readonly functionTimeoutMs?: number;
  /** How long before that timeout a running job is aborted, to leave time to settle it. @default 10_000 */
  readonly marginMs?: number;
}

/** How long a job counts as running after its process has died. Leases are renewed every third of this time. */
const leaseMs = 60_000;
/**
 * The host delivers a message again as soon as its call throws, and the message is dead after `maxDeliveryCount` deliveries. So a failed call
 * pauses first, while the host renews the lock. The first pause outlasts a short fault of a store or of the network. Later pauses leave time to
 * correct a setting. A job that must run again keeps at least one delivery.
 */
const firstPauseMs = 30_000;
const longestPauseMs = 240_000;
const pauseMs = (deliveryCount: number): number =>
  Math.min(longestPauseMs, firstPauseMs * 2 ** (deliveryCount - 1));

export type Worker = (message: unknown, context: HostContext) => Promise<void>;

export function createWorker(running: Running, queue: string, clock: Clock, options: WorkerOptions): Worker {
  const { functionTimeoutMs = 1_800_000, marginMs = 10_000 } = options;
  checkInteger('functionTimeoutMs', functionTimeoutMs, 1_000);
  checkInteger('marginMs', marginMs, 0);

  const { WEBSITE_SITE_NAME, WEBSITE_INSTANCE_ID, CONTAINER_NAME } = process.env;
  const by = {
    worker: WEBSITE_SITE_NAME ?? 'functions',
    host: WEBSITE_INSTANCE_ID ?? CONTAINER_NAME ?? hostname(),
  };

  async function handle(message: unknown, { triggerMetadata }: HostContext, endAt: number): Promise<void> {
    const delivery = deliveryFrom(message, triggerMetadata);
    const { client, backend, numbers } = await running.startFor(queue);
    const lease = await backend.accept(queue, delivery, clock.now() + leaseMs);
    if (!lease) return;
    const run = createRun(lease, clock);
    running.jobs.add(run);
    const maintenance = startMaintenance({
      client,
      running: new Set([run]),
      endAt,
      leaseMs,
      settler: backend.pushed,
      failed: running.failed,
    });
    let result: AttemptResult;
    try {
      const bytes = numbers?.sample() ?? null;
      result = await attempt(client.app, { client, by, settler: backend.pushed }, run);
      numbers?.count(queue, result, bytes);
      // Not awaited: the host completes the message when this returns, and the process continues.
      void numbers?.flushWhenDue(Number.POSITIVE_INFINITY);
    } finally {
      maintenance.stop();
      running.jobs.delete(run);
    }
    // The host may stop an instance between two calls. A job that succeeded does not wait for the hooks of a failed one.
    const leftMs = endAt + marginMs / 2 - clock.now();
    await Promise.all([result.error && hooksEnded(client.app, leftMs), endsWritten(client, leftMs)]);
    if (!result.settled) throw lost(queue);
  }

  return (message, context) =>
    running.within(context, async () => {
      const endAt = clock.now() + Math.max(0, functionTimeoutMs - marginMs);
      try {
        await handle(message, context, endAt);
      } catch (error) {
        if (isLost(error)) throw error;
        running.failed('settling', error);
        const deliveries = Math.max(1, countOf(context.triggerMetadata?.deliveryCount));
        await running.pause(Math.min(pauseMs(deliveries), Math.max(0, endAt - clock.now())));
        throw error;
      }
    });
}

const lost = (queue: string): LongshoreError =>
  new LongshoreError(
    'LEASE_LOST',
    `The lock of a message of queue "${queue}" ended while its job ran; another instance may own it now. Set maxAutoLockRenewalDuration in host.json to functionTimeout or more.`,
  );

const isLost = (error: unknown): boolean => error instanceof LongshoreError && error.code === 'LEASE_LOST';
