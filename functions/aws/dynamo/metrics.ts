/** Numbers in the table. */

import type { MetricKey, MetricRow, MetricStep, MetricStore } from '../../../core/contract/metrics.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { lastOfEach } from '../../../core/kit/records/metric-rows.ts';
import { keepMs } from '../../../core/kit/records/metric-steps.ts';
import { shardOf } from '../../../core/kit/records/partitions.ts';
import type { Dynamo } from './api.ts';
import type { Item } from './sdk.ts';
import { expiry, partitionsPerStep, sortKeyOf } from './sort-keys.ts';
import { partitionKey, sortKey } from './table.ts';

/** Names hold no `#`; a source may, and stands last. */
const nameOf = ({ queue, job, source }: MetricKey): string => `${queue}#${job}#${source}`;
const partitionOf = (step: MetricStep, shard: number): string => `metrics#${step}#${shard}`;

function itemOf(row: MetricRow): Item {
  const { step, at, queue, job, source, body } = row;
  const name = nameOf(row);
  return {
    pk: `metric#${step}#${sortKeyOf(at, name)}`,
    [partitionKey]: partitionOf(step, shardOf(name, partitionsPerStep)),
    [sortKey]: sortKeyOf(at, name),
    queue,
    job: job || null,
    at,
    source: source || null,
    body,
    expiresAt: expiry(at + keepMs[step]),
  };
}

export function dynamoMetrics(dynamo: Dynamo): MetricStore {
  return {
    // Put one by one, because a batch needs a permission more and costs as much. Written over, an item leaves the index alone: none of
    // the attributes that stand there changes.
    write: (rows) =>
      dynamo.call('writing numbers', (api) => forEach(lastOfEach(rows), (row) => api.write(itemOf(row)))),

    async read({ step, from, to, queue, job }) {
      if (to <= from) return [];
      const where = [
        ...(queue === undefined ? [] : ['#queue = :queue']),
        ...(job === undefined ? [] : [job === '' ? 'attribute_not_exists(#job)' : '#job = :job']),
      ].join(' AND ');
      const values = { ':queue': queue ?? null, ':job': job || null };
      const range = { from: sortKeyOf(from), to: sortKeyOf(to), where, values };
      const partitions = Array.from({ length: partitionsPerStep }, (_, shard) => partitionOf(step, shard));
      const items = await dynamo.call('reading numbers', async (api) => {
        const found = await Promise.all(partitions.map((partition) => api.query({ ...range, partition })));
        return api.read(found.flat().map(({ pk }) => pk as string));
      });
      return items.map(({ at, queue, job, source, body }) => ({
        step,
        at: at as number,
        queue: queue as string,
        job: (job as string | undefined) ?? '',
        source: (source as string | undefined) ?? '',
        body: body as string,
      }));
    },

    /** DynamoDB removes items for nothing, once they are past their time. To remove them ourselves would cost as much as to write them. */
    purge: async () => 0,
  };
}
