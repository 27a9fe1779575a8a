/** What stores of numbers share. */

import type { MetricFilter, MetricKey, MetricRow } from '../../contract/derived/metrics.ts';

/** Queues and jobs of Longshore have no spaces in their names; another program may write some. */
export const withoutSpaces = (name: string): string => name.replace(/[% ]/g, encodeURIComponent);
export const withSpaces = (name: string): string => name.replaceAll('%20', ' ').replaceAll('%25', '%');

/** Different keys stay different: the source, which may have spaces, stands last. */
export const metricKey = ({ step, at, queue, job, source }: MetricKey): string =>
  `${step} ${at} ${withoutSpaces(queue)} ${withoutSpaces(job)} ${source}`;

/**
 * One row per key, the last one, in an order that all writers share: two that lock the same rows wait for each other, and never
 * both.
 */
export function lastOfEach(rows: readonly MetricRow[]): MetricRow[] {
  const byKey = new Map(rows.map((row) => [metricKey(row), row]));
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** Whether it is of the queue and job that are asked for. */
export const isAskedFor = (row: Pick<MetricKey, 'queue' | 'job'>, { queue, job }: MetricFilter): boolean =>
  (queue === undefined || row.queue === queue) && (job === undefined || row.job === job);
