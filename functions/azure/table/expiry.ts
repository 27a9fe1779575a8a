/** Rows that may go after a moment: Table storage has no expiry, so a row beside each says when to look whether it may. */

import { randomUUID } from 'node:crypto';
import { forEach } from '../../../core/kit/parallel.ts';
import { momentText } from '../../../core/kit/records/sortable.ts';
import type { Table } from './api.ts';
import { textOf, textProperties } from './layout.ts';
import type { Entity, Found, TableApi } from './sdk.ts';

/** One purge call looks at most at so many rows of a partition. */
const stepSize = 100;

interface Version {
  readonly etag: string;
  /** The row that says when to look. */
  readonly look: string;
}

export interface Expiring {
  readonly partition: string;
  readonly row: string;
  readonly text: string;
  /** Epoch ms. Rows of keys have it in their text alone. */
  readonly endsAt: number;
  readonly properties?: Readonly<Record<string, string>>;
}

const lookAt = (at: number): string => `look:${momentText(at)}:${randomUUID()}`;

function entityOf({ partition, row, text, properties }: Expiring, look: string): Entity {
  return { partitionKey: partition, rowKey: row, look, ...properties, ...textProperties(text) };
}

export async function readExpiring(
  api: TableApi,
  partition: string,
  row: string,
): Promise<{ readonly text: string; readonly version: string } | null> {
  const found = await api.get(partition, row);
  if (!found) return null;
  const version: Version = { etag: found.etag, look: found.look! };
  return { text: textOf(found), version: JSON.stringify(version) };
}

/** `over`: the version that was read, `null` = there is none. */
export function writeExpiring(api: TableApi, given: Expiring, over: string | null): Promise<boolean> {
  const { partition, row, endsAt } = given;
  if (over === null) {
    const look = lookAt(endsAt);
    return api.commit(partition, [
      { create: entityOf(given, look) },
      { create: { partitionKey: partition, rowKey: look, key: row } },
    ]);
  }
  // A later end is one write: the look row stays, and a purge that looks too early moves it.
  const { etag, look } = JSON.parse(over) as Version;
  return api.commit(partition, [{ update: entityOf(given, look), over: etag }]);
}

export async function removeExpiring(
  api: TableApi,
  partition: string,
  row: string,
  version: string,
): Promise<boolean> {
  const { etag, look } = JSON.parse(version) as Version;
  if (!(await api.remove(partition, row, etag))) return false;
  await api.remove(partition, look); // a purge removes one that is left behind
  return true;
}

/** Removes rows past their time; returns how many. Bounded. */
export async function purgeExpired(
  table: Table,
  partitions: readonly string[],
  expiringOf: (found: Found) => Expiring,
  now: number,
): Promise<number> {
  let count = 0;
  await table.call('purging', (api) =>
    forEach(partitions, async (partition) => {
      const range = { partition, from: 'look:', to: `look:${momentText(now + 1)}`, max: stepSize };
      for (const look of await api.range(range)) if (await lookInto(api, look, expiringOf, now)) count++;
    }),
  );
  return count;
}

/** `true`: the row was past its time and was removed. */
async function lookInto(
  api: TableApi,
  look: Found,
  expiringOf: (found: Found) => Expiring,
  now: number,
): Promise<boolean> {
  const { partitionKey: partition, rowKey, key: row } = look;
  const found = await api.get(partition, row!);
  const stored = found?.look === rowKey ? expiringOf(found) : null;
  if (found && stored && stored.endsAt > now) {
    const later = lookAt(stored.endsAt);
    await api.commit(partition, [
      { update: entityOf(stored, later), over: found.etag },
      { create: { partitionKey: partition, rowKey: later, key: row! } },
      { remove: rowKey },
    ]);
    return false;
  }
  // Where the row is gone, or has another look row by now, only this look row is removed.
  if (found && stored && !(await api.remove(partition, row!, found.etag))) return false;
  await api.remove(partition, rowKey);
  return stored !== null;
}
