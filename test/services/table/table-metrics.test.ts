/** How numbers lie in the table: their partitions, and how they go. */

import { TableClient } from '@azure/data-tables';
import { beforeAll, expect, it } from 'vitest';
import type { MetricRow, MetricStore } from '../../../core/contract/derived/metrics.ts';
import { tableStore } from '../../../functions/azure/table/index.ts';
import { shared } from '../../kit/shared/shared.ts';

const table = 'longshorenumbers';
const minute = 60_000;
const day = 86_400_000;
/** Midnight. */
const at = Date.UTC(2026, 0, 31);
let connectionString: string;
let client: TableClient;
let numbers: MetricStore;

beforeAll(async () => {
  ({ connectionString } = await shared('azurite'));
  client = TableClient.fromConnectionString(connectionString, table, { allowInsecureConnection: true });
  const stores = tableStore({ table, connectionString });
  await stores.migrate();
  numbers = stores.metrics!;
});

const row = (change: Partial<MetricRow> = {}): MetricRow => ({
  step: 'minute',
  at,
  queue: 'mail',
  job: 'send',
  source: 'w1',
  body: '{}',
  ...change,
});

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { partitionKey, rowKey } of client.listEntities()) found.push(`${partitionKey} ${rowKey}`);
  return found.sort();
}

async function purgeAll(before: number): Promise<number> {
  let gone = 0;
  for (let count = 1; count > 0; gone += count) count = await numbers.purge('minute', before);
  return gone;
}

it('a partition holds the minutes of a day, or the hours of some weeks; rows are in the order of time', async () => {
  await numbers.write([
    row({ at: at - minute }),
    row(),
    row({ step: 'hour' }),
    row({ step: 'day', source: 'a/b#?' }),
  ]);
  const hash = '~[0-9a-f]{64}';
  expect(await keys()).toEqual([
    expect.stringMatching(new RegExp(`^metrics-day-000\\d{13} 000${at}\\|mail\\|send\\|${hash}$`)),
    expect.stringMatching(new RegExp(`^metrics-hour-000\\d{13} 000${at}\\|mail\\|send\\|w1$`)),
    `metrics-minute-000${at - day} 000${at - minute}|mail|send|w1`,
    `metrics-minute-000${at} 000${at}|mail|send|w1`,
  ]);
  expect(await purgeAll(at + day)).toBe(2);
});

it('a table that holds nothing but numbers is ours', async () => {
  const own = tableStore({ table: 'onlynumbers', connectionString });
  await own.migrate();
  await own.metrics!.write([row()]);
  expect(await own.migrate()).toEqual({ from: 1, to: 1 });
});

it('a read of a range looks into the partitions of its days, and into those between', async () => {
  const rows = [-40, -3, -2, -1, 0].map((days) => row({ at: at + days * day + 5 * minute }));
  await numbers.write(rows);
  const found = await numbers.read({ step: 'minute', from: at - 3 * day + 6 * minute, to: at + 5 * minute });
  expect(
    found
      .map((each) => (each.at - at) / day)
      .map(Math.floor)
      .sort(),
  ).toEqual([-1, -2]);
  expect(await numbers.read({ step: 'minute', from: 0, to: Number.MAX_SAFE_INTEGER })).toHaveLength(5);
});

it('a purge removes whole partitions of any age, and the rows before its moment in the last one', async () => {
  await purgeAll(at + 10 * day);
  const days = [0, -1, -2, -700].flatMap((n) => [at + n * day, at + n * day + minute]);
  await numbers.write(days.map((each) => row({ at: each })));
  expect(await purgeAll(at + minute)).toBe(7);
  expect(await keys()).toContain(`metrics-minute-000${at} 000${at + minute}|mail|send|w1`);
  expect(await purgeAll(at + 2 * minute)).toBe(1);
  expect((await keys()).filter((key) => key.startsWith('metrics-minute'))).toEqual([]);
});
