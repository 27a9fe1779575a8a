/** Texts by name in the table, which can compare and swap: what limits and batches are made of. */

import { randomUUID } from 'node:crypto';
import { emptyLimit, forever } from '../../../core/kit/records/limit-rules.ts';
import type { LimitTable } from '../../../core/kit/records/limits.ts';
import { shardOf } from '../../../core/kit/records/partitions.ts';
import { sortable, sortableRange } from '../../../core/kit/records/sortable.ts';
import type { Dynamo } from './api.ts';
import { expiry } from './sort-keys.ts';
import { partitionKey, sortKey } from './table.ts';

/** An item holds 400 KB at most. */
const maxBytes = 380_000;
const shards = 8;

/**
 * @param kind what the keys of the items begin with
 * @param listed the first letters of names that are listed
 */
export function dynamoTexts(dynamo: Dynamo, kind: 'limit' | 'batch', listed: string): LimitTable {
  const during = kind === 'limit' ? 'a limit' : 'a batch';
  const partitions = Array.from(
    { length: shards },
    (_, shard) => `${kind === 'limit' ? 'limits' : 'batches'}#${shard}`,
  );
  const pkOf = (name: string): string => `${kind}#${name}`;
  const nameOf = (pk: string): string => pk.slice(pkOf('').length);
  const indexed = (name: string) =>
    listed.includes(name[0]!)
      ? { [partitionKey]: partitions[shardOf(name, shards)]!, [sortKey]: sortable(name) }
      : {};
  return {
    fits: (text) => text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes,
    pauseMs: 10,
    async read(name) {
      const [item] = await dynamo.call(`reading ${during}`, (api) => api.read([pkOf(name)]));
      return item ? { text: item.state as string, version: item.version as string } : null;
    },
    write: (name, state, over, endsAt) =>
      dynamo.call(`writing ${during}`, (api) => {
        const expiresAt = endsAt >= forever ? null : expiry(endsAt);
        const item = { pk: pkOf(name), version: randomUUID(), state, expiresAt };
        return api.write({ ...item, ...indexed(name) }, over);
      }),
    remove: (name, version) => dynamo.call(`writing ${during}`, (api) => api.remove(pkOf(name), version)),
    list: (prefix, after, max) =>
      dynamo.call(`listing ${during}`, async (api) => {
        const { from, to } = sortableRange(prefix);
        const last = sortable(after);
        if (last >= to) return [];
        const range = { from: last > from ? last : from, to, max: max + 1, forward: true };
        const found = await Promise.all(partitions.map((partition) => api.query({ ...range, partition })));
        const next = found
          .flat()
          .map(({ pk, [sortKey]: text }) => ({ name: nameOf(pk as string), text: text as string }))
          .filter(({ text }) => text > last)
          .sort((a, b) => (a.text < b.text ? -1 : 1))
          .slice(0, max)
          .map(({ name }) => name);
        const items = await api.read(next.map(pkOf));
        const states = new Map(items.map(({ pk, state }) => [nameOf(pk as string), state as string]));
        // What is gone already, because the index lags behind the table, is on the page too, with nothing to show.
        return next.map((name) => ({
          name,
          text: (name.startsWith(prefix) && states.get(name)) || JSON.stringify(emptyLimit),
        }));
      }),
  };
}
