/** The metrics of several processes as one text. */

import { AggregatorRegistry, Registry } from 'prom-client';
import { systemClock, within } from '../../core/base/clock.ts';
import { createApp } from '../../core/features/table.ts';
import { connect } from '../../core/routing/connect.ts';
import { memory } from '../backends/memory/index.ts';
import { type LocalMetricsOptions, serveAlone } from '../prometheus/serve.ts';
import type { ServeOptions } from '../serve.ts';
import type { MemberCalls, Numbers } from './calls.ts';
import type { Child } from './processes.ts';

/** A process that does not answer within this time is counted as it was at the last scrape. */
const answerMs = 3_000;

type MemberChild = Child<MemberCalls>;

export interface Sums {
  readonly url: string;
  /** Keeps the numbers of a process that has ended, because a counter must not fall. @param last `null` = it died */
  keep(child: MemberChild, last: Numbers | null): void;
  close(): Promise<void>;
}

/** @param running the processes whose workers run. Throws `CONFIG` as `startLocal()` does for these options */
export async function serveSums(
  options: LocalMetricsOptions & Pick<ServeOptions, 'port'>,
  running: () => readonly MemberChild[],
): Promise<Sums> {
  let kept: Numbers = [];
  /** The counters of each process at the last scrape. */
  const latest = new WeakMap<MemberChild, Numbers>();

  async function ask(child: MemberChild, gauges: boolean): Promise<Numbers> {
    const asked = child.peer.ask('numbers', { gauges }).catch(() => null);
    const numbers = await within<Numbers | null>(systemClock, answerMs, asked, () => null);
    if (numbers) latest.set(child, numbers.filter(isCount));
    return numbers ?? latest.get(child) ?? [];
  }
  async function text(): Promise<string> {
    const all = await Promise.all(running().map((child, i) => ask(child, i === 0)));
    return AggregatorRegistry.aggregate([kept, ...all]).metrics();
  }
  // The app and its queue are in the children. This handler only checks the caller.
  const handled = connect(createApp({ jobs: [] }), memory());
  const { contentType } = new Registry();
  const server = await serveAlone(handled, { text, contentType }, options, () => running().length > 0);
  return {
    url: `${server.url}/metrics`,
    keep(child, last) {
      const numbers = last ?? latest.get(child) ?? [];
      kept = asJson(AggregatorRegistry.aggregate([kept, numbers]));
    },
    async close() {
      await server.close();
      await handled.close();
    },
  };
}

const isCount = (metric: object): boolean => (metric as { type?: unknown }).type !== 'gauge';

/** `getMetricsAsJSON()` without its promise: the metrics of an aggregate are data. */
const asJson = (registry: Registry): Numbers =>
  registry.getMetricsAsArray().map((metric) => (metric as unknown as { get(): object }).get());
