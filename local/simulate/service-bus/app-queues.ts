/** The queues of an app as docs/azure.md makes them: each with the one in which a function keeps what failed for good. */

import { defaultSettings, type QueueSettings } from './queue.ts';
import type { ServiceBusServer } from './server.ts';

/** Retrying one dead letter locks others too, and each time counts as a delivery. */
const failedDeliveries = 2_000;

/** Returns the names of the created queues. @param sessions those that require them. The duplicate window is that of the documentation: it costs memory only. */
export function createAppQueues(
  server: ServiceBusServer,
  names: readonly string[],
  settings: Partial<QueueSettings> = {},
  sessions: readonly string[] = [],
): string[] {
  const shared = { duplicateWindowMs: 3_600_000, lockMs: defaultSettings.lockMs };
  return names.flatMap((name) => {
    const failed = `${name}-failed`;
    server.createQueue(name, { ...shared, ...settings, requiresSession: sessions.includes(name) });
    server.createQueue(failed, { ...shared, maxDeliveryCount: failedDeliveries });
    return [name, failed];
  });
}
