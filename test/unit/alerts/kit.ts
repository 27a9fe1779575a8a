/** An app with alerts on a queue in memory, evaluated whenever the test says so. */

import type { QueueStats } from '../../../core/contract/admin.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import {
  type Alerts,
  type AlertsDefinition,
  alert,
  defineAlerts,
  sendTo,
} from '../../../core/features/alerts/index.ts';
import type { AlertNotice } from '../../../core/kernel/app/alerts.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { type BenchOptions, bench, job } from '../core/kit.ts';

export const minuteMs = 60_000;
export const work = job();

export interface Watched {
  readonly client: Client;
  readonly alerts: Alerts;
}

/** Looks once, as a host with this client does. */
export const look = ({ alerts, client }: Watched, where: 'worker' | 'function' = 'worker'): Promise<void> =>
  alerts.evaluate(client, where);

/**
 * A bench whose alerts are sent to `sent`.
 * @param definition by default only the backlog of more than 2 jobs for 5 minutes
 */
export function watched(definition: Partial<AlertsDefinition> = {}, options: Partial<BenchOptions> = {}) {
  const sent: AlertNotice[] = [];
  const alerts = defineAlerts({
    to: sendTo((notices) => void sent.push(...notices)),
    rules: [alert.backlog({ above: 2 })],
    ...definition,
  });
  const b = bench({ jobs: [work], alerts, ...options });
  return {
    ...b,
    alerts,
    sent,
    /** Each as `state alert subject`. */
    told: (): string[] =>
      sent.splice(0).map(({ state, alert, subject }) => `${state} ${alert} ${subject}`.trim()),
    look: (where?: 'worker' | 'function') => look({ alerts, client: b.client }, where),
    /** Looks once a minute for so long, with a first look a minute from now. */
    async minutes(count: number): Promise<void> {
      for (let i = 0; i < count; i++) {
        b.clock.advance(minuteMs);
        await look({ alerts, client: b.client });
      }
    },
    async backlog(count: number): Promise<void> {
      await b.client.enqueueMany(
        work,
        Array.from({ length: count }, () => ({})),
      );
    },
    clear: () => b.backend.admin!.clear('default'),
  };
}

/** Another process: its own memory of what it has seen, the same store. */
export const anotherHost = (client: Client, definition: AlertsDefinition): Watched => ({
  client,
  alerts: defineAlerts(definition),
});

/** The client with another backend or other stores in it. */
export const instead = (
  client: Client,
  parts: { stores?: Partial<Stores>; backend?: Partial<QueueBackend> },
): Client => ({
  ...client,
  backend: { ...client.backend, ...parts.backend } as QueueBackend,
  stores: { ...client.stores, ...parts.stores } as Stores,
});

export const stats = (parts: Partial<QueueStats> = {}): QueueStats => ({
  queue: 'default',
  ready: 0,
  delayed: 0,
  leased: 0,
  dead: 0,
  paused: false,
  oldestReadyMs: null,
  ...parts,
});

/** The client, whose backend says this of its queues. */
export function saying(client: Client, ...all: readonly QueueStats[]): Client {
  const admin = { ...client.backend.admin!, stats: async () => [...all] };
  return instead(client, { backend: { admin } });
}
