/** The side of a child of `longshore work --processes`: it runs one worker, and drains when its parent asks or has died. */

import type { Client } from '../../core/kernel/enqueue/client.ts';
import {
  type MemberCalls,
  type MemberSummary,
  memberVariable,
  type Numbers,
  type ParentCalls,
} from './calls.ts';
import { connectPeer } from './processes.ts';

export interface Member {
  /** From 1. A process that replaces a dead one has the same number. */
  readonly number: number;
  /** The worker runs. */
  ready(): void;
  /** Counts for the metrics of the parent from now on. */
  count(client: Client): Promise<void>;
  ended(summary: Omit<MemberSummary, 'numbers'>): Promise<void>;
}

/** @param stop drains the worker, also before it has started */
export function joinFleet(stop: () => void): Member {
  const [parent, number] = process.env[memberVariable]!.split(':');
  delete process.env[memberVariable]; // programs that a job starts are not part of it
  if (parent !== String(process.ppid)) process.exit(); // the parent has died
  let numbers: Awaited<ReturnType<typeof createCounting>> | null = null;
  const calls: MemberCalls = {
    stop: () => stop(),
    numbers: async (which) => numbers?.(which) ?? [],
  };
  const peer = connectPeer<ParentCalls>(process, calls);
  process.once('disconnect', stop);
  process.channel?.unref();
  return {
    number: Number(number),
    ready: () => void peer.ask('ready', null).catch(ignore),
    async count(client) {
      numbers = await createCounting(client);
    },
    async ended(summary) {
      process.channel?.ref(); // nothing else may keep this process alive
      const last = (await numbers?.({ gauges: false })) ?? [];
      await peer.ask('ended', { ...summary, numbers: last }).catch(ignore);
      process.channel?.unref();
    },
  };
}

async function createCounting(client: Client) {
  const { Gauge, Registry } = await import('prom-client');
  const { metrics } = await import('../prometheus/index.ts');
  const registry = new Registry();
  metrics(client, { registry });
  return async ({ gauges }: { gauges: boolean }): Promise<Numbers> => {
    if (gauges) return registry.getMetricsAsJSON();
    const all = registry.getMetricsAsArray().filter((metric) => !(metric instanceof Gauge));
    return Promise.all(all.map((metric) => (metric as unknown as { get(): Promise<object> }).get()));
  };
}

const ignore = (): void => {};
