/** Code that metric stores share. */

import type { MetricFilter, MetricKey, MetricRow } from '../../contract/derived/metrics.ts';

/** Names of queues and jobs have no spaces, but other programs may write some. */
export const withoutSpaces = (name: string): string => name.replace(/[% ]/g, encodeURIComponent);
export const withSpaces = (name: string): string => name.replaceAll('%20', ' ').replaceAll('%25', '%');

/** Unique per key: the source, which may have spaces, comes last. */
export const metricKey = ({ step, at, queue, job, source }: MetricKey): string =>
  `${step} ${at} ${withoutSpaces(queue)} ${withoutSpaces(job)} ${source}`;

/**
 * The last row of each key, sorted by key. All writers lock rows in this order, so they cannot deadlock.
 */
export function lastOfEach(rows: readonly MetricRow[]): MetricRow[] {
  const byKey = new Map(rows.map((row) => [metricKey(row), row]));
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** Whether the row matches the queue and job of the filter. */
export const isAskedFor = (row: Pick<MetricKey, 'queue' | 'job'>, { queue, job }: MetricFilter): boolean =>
  (queue === undefined || row.queue === queue) && (job === undefined || row.job === job);
