/** Slots of limits in the table. Loaded with the first job that has a limit. */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { LimitStore } from '../../../core/contract/limits.ts';
import { emptyLimit, forever } from '../../../core/kit/records/limit-rules.ts';
import { limitStore } from '../../../core/kit/records/limits.ts';
import { shardOf } from '../../../core/kit/records/partitions.ts';
import { sortable, sortableRange } from '../../../core/kit/records/sortable.ts';
import type { Dynamo } from './api.ts';
import { expiry } from './sort-keys.ts';
import { partitionKey, sortKey } from './table.ts';

/** Each costs a part of every write of the key. */
const mostWaiters = 250;
/** An item holds 400 KB at most. */
const maxBytes = 380_000;
const partitions = Array.from({ length: 8 }, (_, shard) => `limits#${shard}`);

const pkOf = (name: string): string => `limit#${name}`;
const nameOf = (pk: string): string => pk.slice(pkOf('').length);
/** Only keys are listed, and not the jobs that wait for them. */
const indexed = (name: string) =>
  name.startsWith('k')
    ? { [partitionKey]: partitions[shardOf(name, partitions.length)]!, [sortKey]: sortable(name) }
    : {};

export const dynamoLimits = (dynamo: Dynamo, clock: Clock): LimitStore =>
  limitStore(
    {
      mostWaiters,
      fits: (text) => text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes,
      pauseMs: 10,
      async read(name) {
        const [item] = await dynamo.call('reading a limit', (api) => api.read([pkOf(name)]));
        return item ? { text: item.state as string, version: item.version as string } : null;
      },
      write: (name, state, over, endsAt) =>
        dynamo.call('writing a limit', (api) => {
          const expiresAt = endsAt >= forever ? null : expiry(endsAt);
          const item = { pk: pkOf(name), version: randomUUID(), state, expiresAt };
          return api.write({ ...item, ...indexed(name) }, over);
        }),
      remove: (name, version) => dynamo.call('writing a limit', (api) => api.remove(pkOf(name), version)),
      list: (prefix, after, max) =>
        dynamo.call('listing limits', async (api) => {
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
    },
    clock,
  );
