/** The trigger of one queue while the host runs: makes concurrent calls and renews their locks. */

import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import { toError } from '../../../core/base/failure.ts';
import type { SimulationEvent } from '../events.ts';
import type { ServiceBusTrigger } from './service-bus-trigger.ts';

interface PumpOptions {
  readonly trigger: ServiceBusTrigger;
  readonly queue: string;
  readonly maxConcurrentCalls: number;
  readonly lockMs: number;
  readonly maxLockRenewalMs: number;
  readonly maxDeliveries: number;
  readonly stopping: AbortSignal;
  on(event: SimulationEvent): void;
  /** Service Bus does not answer any more. */
  broken(error: unknown): void;
}

/** How long one receive call waits. A stop waits for it too: a call that is broken off may still receive messages. */
const waitMs = 1_000;
/** Service Bus answers a look with all it has. */
const lookMs = 20;

export function startPump(options: PumpOptions) {
  const { trigger, queue, maxConcurrentCalls, stopping, on, broken } = options;
  const calls = new Set<Promise<void>>();

  async function call(message: ServiceBusReceivedMessage): Promise<void> {
    const deliveries = (message.deliveryCount ?? 0) + 1;
    const startedAt = Date.now();
    on({ type: 'invoked', queue, messages: 1, again: deliveries > 1 ? 1 : 0 });
    const stopRenewing = renewing(message, startedAt);
    const { end, thrown } = await trigger.call(queue, message).finally(stopRenewing);
    const durationMs = Date.now() - startedAt;
    if (end === 'completed') return on({ type: 'answered', queue, done: 1, failed: 0, durationMs });
    const error = thrown === null ? new Error(whyNot[end]) : toError(thrown);
    on({ type: 'failed', queue, messages: 1, error, durationMs });
    if (deliveries >= options.maxDeliveries) on({ type: 'redriven', queue, messages: 1 });
  }

  function renewing(message: ServiceBusReceivedMessage, startedAt: number): () => void {
    const timer = setInterval(() => {
      if (Date.now() - startedAt > options.maxLockRenewalMs) return clearInterval(timer);
      trigger.renew(queue, message).catch(() => clearInterval(timer)); // then the message cannot be completed, which is reported
    }, options.lockMs / 3);
    return () => clearInterval(timer);
  }

  async function pump(): Promise<void> {
    while (!stopping.aborted) {
      // Asked to wait for several, the SDK would hold the first one back for a second.
      const messages = await trigger.receive(queue, 1, waitMs);
      const free = maxConcurrentCalls - calls.size - messages.length;
      if (messages.length > 0 && free > 0) messages.push(...(await trigger.receive(queue, free, lookMs)));
      if (stopping.aborted) return; // messages received meanwhile are locked in a Service Bus that ends too
      for (const message of messages) {
        const mine: Promise<void> = call(message)
          .catch(broken)
          .finally(() => calls.delete(mine));
        calls.add(mine);
      }
      while (calls.size >= maxConcurrentCalls) await Promise.race(calls);
    }
  }

  return {
    /** Calls under way. */
    running: () => calls.size,
    /** Resolves when it has stopped and its last call is over. */
    done: pump()
      .catch((error) => {
        if (!stopping.aborted) broken(error);
      })
      .then(async () => void (await Promise.all(calls))),
  };
}

const whyNot: Readonly<Record<string, string>> = {
  abandoned: 'it has thrown nothing',
  killed: 'it took longer than functionTimeout; the host would end its process',
  'lock lost': 'its lock had ended before it was completed',
};
