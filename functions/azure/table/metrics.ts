/** Metrics in the table. */

import { slices } from '../../../core/base/slices.ts';
import type { MetricRow, MetricStep, MetricStore } from '../../../core/contract/derived/metrics.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { lastOfEach } from '../../../core/kit/records/metric-rows.ts';
import { momentText } from '../../../core/kit/records/sortable.ts';
import { every, safe, textOf, textProperties } from './layout.ts';
import type { Entity, Found, Range, Table, TableApi } from './sdk.ts';

const dayMs = 86_400_000;
/** The time span of a partition. It has some thousand rows per job, so a usual read needs one or two partitions. */
const partitionMs: Readonly<Record<MetricStep, number>> = {
  minute: dayMs,
  hour: 50 * dayMs,
  day: 1_000 * dayMs,
};
/** The most rows in one transaction. */
const batchSize = 100;
/** The most rows that one purge call removes. */
const stepSize = 1_000;
/** A transaction that collides with another one is repeated. */
const mostTries = 5;

const startOf = (step: MetricStep, at: number): number => at - (at % partitionMs[step]);
const partitionOf = (step: MetricStep, at: number): string =>
  `metrics-${step}-${momentText(startOf(step, at))}`;

function entityOf({ step, at, queue, job, source, body }: MetricRow): Entity {
  return {
    partitionKey: partitionOf(step, at),
    rowKey: [momentText(at), ...[queue, job, source].map(safe)].join('|'),
    queue,
    job,
    source,
    ...textProperties(body),
  };
}

const rowOf = (step: MetricStep, found: Found): MetricRow => ({
  step,
  at: Number.parseInt(found.rowKey, 10),
  queue: found.queue!,
  job: found.job!,
  source: found.source!,
  body: textOf(found),
});

export function tableMetrics(table: Table): MetricStore {
  return {
    async write(rows) {
      const batches = batchesOf(lastOfEach(rows).map(entityOf));
      await table.call('writing numbers', (api) => forEach(batches, (batch) => put(api, batch)));
    },

    async read({ step, from, to, queue, job }) {
      const equal = { ...(queue === undefined ? {} : { queue }), ...(job === undefined ? {} : { job }) };
      const found: Found[] = [];
      await table.call('reading numbers', (api) =>
        forEach(rangesOf(step, from, to), async (range) => {
          found.push(...(await api.range({ ...range, equal })));
        }),
      );
      return found.map((each) => rowOf(step, each));
    },

    purge: (step, before) =>
      table.call('purging numbers', async (api) => {
        const last = partitionOf(step, before);
        const whole = { partition: partitionOf(step, 0), before: last, ...every, max: stepSize };
        let found = await api.range(whole);
        if (found.length === 0)
          found = await api.range({ partition: last, from: '', to: momentText(before), max: stepSize });
        const counts: number[] = [];
        await forEach(batchesOf(found), async (batch) => counts.push(await remove(api, batch)));
        return counts.reduce((sum, count) => sum + count, 0);
      }),
  };
}

/** The ranges of rows: parts of the first and the last partition, and all of those in between. */
function rangesOf(step: MetricStep, from: number, to: number): Range[] {
  if (to <= from) return [];
  const [first, last] = [partitionOf(step, from), partitionOf(step, to - 1)];
  const [since, until] = [
    { ...every, from: momentText(from) },
    { ...every, to: momentText(to) },
  ];
  if (first === last) return [{ partition: first, from: since.from, to: until.to }];
  const second = partitionOf(step, from + partitionMs[step]);
  return [
    { partition: first, ...since },
    { partition: second, before: last, ...every },
    { partition: last, ...until },
  ];
}

/** Groups entities by transaction, which can change only one partition. */
function batchesOf<T extends Entity>(all: readonly T[]): (readonly T[])[] {
  const partitions = [...Map.groupBy(all, ({ partitionKey }) => partitionKey).values()];
  return partitions.flatMap((rows) => [...slices(rows, batchSize)]);
}

/** If two writers create the same row at once, both may get the answer that it exists. */
async function put(api: TableApi, batch: readonly Entity[]): Promise<void> {
  const steps = batch.map((entity) => ({ put: entity }));
  for (let tries = 1; tries <= mostTries; tries++)
    if (await api.commit(batch[0]!.partitionKey, steps)) return;
  throw new Error(`lost ${mostTries} races for the same rows`);
}

/** Returns how many rows this call has removed. */
async function remove(api: TableApi, batch: readonly Found[]): Promise<number> {
  const { partitionKey } = batch[0]!;
  if (
    await api.commit(
      partitionKey,
      batch.map(({ rowKey }) => ({ remove: rowKey })),
    )
  )
    return batch.length;
  // Another purge has removed some of them.
  let count = 0;
  for (const { rowKey } of batch) if (await api.remove(partitionKey, rowKey)) count++;
  return count;
}
