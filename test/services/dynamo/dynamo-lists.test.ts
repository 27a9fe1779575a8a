/** Lists of records: the places of records in the index, and how much of it one page looks at. */

import { type AttributeValue, BatchWriteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slices } from '../../../core/base/slices.ts';
import type { Contract } from '../../../core/index.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { jobMaker } from '../../kit/stores.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { type OpenTable, openTable, retention } from './table-kit.ts';

const table = 'longshore-lists';
const clock = createVirtualClock();
let opened: OpenTable;
let { client, stores, writer, item } = {} as OpenTable;

beforeAll(async () => {
  opened = await openTable(table, clock);
  ({ client, stores, writer, item } = opened);
});
afterAll(() => opened.close());

const { newJob, ended } = jobMaker(clock);

describe('a list', () => {
  it('is newest first over all shelves and statuses', async () => {
    const jobs = [];
    for (let i = 0; i < 60; i++) {
      clock.advance(10);
      jobs.push(newJob());
    }
    await writer.enqueued(jobs);
    for (const job of jobs.filter((_, i) => i % 3 === 0)) {
      await writer.started(job, { owner: 'anna', attempt: 1, at: clock.now() });
      if (jobs.indexOf(job) % 2 === 0) await writer.settled(job, 'anna', ended(1));
    }
    const newest = jobs.map(({ id }) => id).reverse();
    const listed = (await stores.records.page({ max: 25 })).records;
    expect(listed.map(({ id }) => id)).toEqual(newest.slice(0, 25));
    expect(new Set(listed.map(({ status }) => status))).toEqual(
      new Set(['pending', 'processing', 'completed']),
    );
    const pending = (await stores.records.page({ max: 5, status: 'pending', queue: 'mail', job: 'send' }))
      .records;
    expect(pending).toHaveLength(5);
    expect(pending.every(({ status }) => status === 'pending')).toBe(true);
    expect((await stores.records.page({ queue: 'other' })).records).toEqual([]);
  });
});

describe('a list by status', () => {
  const put = (Item: Record<string, AttributeValue>) =>
    client.send(new PutItemCommand({ TableName: table, Item }));
  const listed = async (status: Contract.JobStatus, createdFrom: number) =>
    (await stores.records.page({ max: 5, status, createdFrom })).records.map(({ id }) => id);

  it('finds records on the shelves of version 0.1.0 and on those of today, each once', async () => {
    clock.advance(1_000);
    const from = clock.now();
    const jobs = Array.from({ length: 8 }, () => newJob());
    await writer.enqueued(jobs);
    const [done, failed, oldDone, runs, oldRuns, waits, oldWaits, lost] = jobs as [(typeof jobs)[0]] &
      typeof jobs;
    for (const job of [done, failed, oldDone, runs, oldRuns, lost])
      await writer.started(job!, { owner: 'anna', attempt: 1, at: clock.now() });
    for (const job of [done, oldDone]) await writer.settled(job!, 'anna', ended(1));
    await writer.settled(failed!, 'anna', ended(1, { reason: 'permanent', error: 'no' }));
    for (const [job, status] of [
      [oldDone, 'completed'],
      [oldRuns, 'processing'],
      [oldWaits, 'pending'],
    ] as const) {
      const before = (await item(`job#${job!.id}`))!;
      await put({ ...before, shelf: { S: before.shelf!.S!.replace('pending', status) } });
    }
    const ids = (...some: typeof jobs) => some.map(({ id }) => id).sort();
    expect((await listed('completed', from)).sort()).toEqual(ids(done, oldDone!));
    expect((await listed('processing', from)).sort()).toEqual(ids(runs!, oldRuns!, lost!));
    expect((await listed('pending', from)).sort()).toEqual(ids(waits!, oldWaits!));
    expect(await listed('failed', from)).toEqual(ids(failed!));
    const all = (await stores.records.page({ max: 20, createdFrom: from })).records;
    expect(all.map(({ id }) => id).sort()).toEqual(ids(...jobs));

    clock.advance(retention.completedMs + 61_000);
    expect(await listed('completed', from)).toEqual([]);
    await stores.records.purge({ completedMs: 0, deadMs: 0 });
    expect(await item(`job#${done.id}`)).toBeUndefined();
    expect(await item(`job#${oldDone!.id}`)).toBeUndefined();
    expect(await item(`job#${failed!.id}`)).toBeUndefined();
    expect(await item(`job#${runs!.id}`)).toBeDefined();
  });

  it('ends a page before it has looked at everything, and goes on there', async () => {
    clock.advance(1_000);
    const before = clock.now();
    const first = newJob();
    await writer.enqueued([first]);
    const Item = (await item(`job#${first.id}`))!;
    const shown = { N: String(clock.now() + 1) };
    // 9 requests of 1,000 entries, all in the partition of the first.
    const behind = Array.from({ length: 9_000 }, (_, i) => {
      const place = Item.place!.S!.replace(/^\d+/, (at) =>
        String(Number(at) + 1 + i).padStart(at.length, '0'),
      );
      return { ...Item, row: { S: '{}' }, pk: { S: `job#of-${i}` }, place: { S: place }, finishedAt: shown };
    });
    await forEach(slices(behind, 25), (some) =>
      client.send(
        new BatchWriteItemCommand({
          RequestItems: { [table]: some.map((item) => ({ PutRequest: { Item: item } })) },
        }),
      ),
    );
    const query = { status: 'pending' as const, createdFrom: before };
    const page = await stores.records.page(query);
    expect(page).toMatchObject({ records: [], next: expect.any(String) });
    const rest = await stores.records.page({ ...query, after: page.next! });
    expect(rest.records.map(({ id }) => id)).toEqual([first.id]);
    expect(rest.next).toBe(null);
  });
});
