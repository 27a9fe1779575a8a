import type { MetricRow, MetricStep, MetricStore } from '../../../core/contract/metrics.ts';
import { isAskedFor, metricKey } from '../../../core/kit/records/metric-rows.ts';

/** One purge call removes whole moments until it has removed so many rows. */
const stepSize = 1000;

export function memoryMetrics(): MetricStore {
  /** By when the step began, then by key. */
  type Moments = Map<number, Map<string, MetricRow>>;
  const steps: Readonly<Record<MetricStep, Moments>> = { minute: new Map(), hour: new Map(), day: new Map() };
  return {
    async write(rows) {
      for (const row of rows) {
        const moments = steps[row.step];
        if (!moments.has(row.at)) moments.set(row.at, new Map());
        moments.get(row.at)!.set(metricKey(row), row);
      }
    },
    async read(filter) {
      return [...steps[filter.step]]
        .filter(([at]) => at >= filter.from && at < filter.to)
        .flatMap(([, rows]) => [...rows.values()].filter((row) => isAskedFor(row, filter)));
    },
    async purge(step, before) {
      let count = 0;
      for (const [at, rows] of steps[step]) {
        if (count >= stepSize) break;
        if (at >= before) continue;
        count += rows.size;
        steps[step].delete(at);
      }
      return count;
    },
  };
}
