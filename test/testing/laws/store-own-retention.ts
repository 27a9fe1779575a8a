/** Records of jobs with a retention of their own. */

import assert from 'node:assert/strict';
import type { JobLease } from '../../../core/contract/queue.ts';
import { day, type Kit, minute, reportOf } from './kit.ts';
import type { Law } from './law.ts';
import { purgeAll } from './store-retention.ts';

const usual = { completedMs: day, deadMs: 3 * day };

async function acked(t: Kit, keepMs?: number): Promise<string> {
  const { id } = await t.put();
  const lease = await t.take();
  const report = reportOf(lease, t.now(), 'acked');
  const ack = { lease, report, ...(keepMs !== undefined && { keepMs }) };
  assert.deepEqual(await t.backend.ack([ack]), [true]);
  return id;
}

async function abandoned(t: Kit, reason: 'permanent' | 'cancelled', keepMs?: number): Promise<string> {
  const { id } = await t.put();
  const why = { reason, error: 'E: x', ...(keepMs !== undefined && { keepMs }) };
  assert.equal(await t.backend.abandon(await t.take(), why), true);
  return id;
}

async function left(t: Kit, ids: readonly string[]): Promise<number[]> {
  const known = await Promise.all(ids.map((id) => t.stores.records.get(id)));
  const listed = (await t.stores.records.page({ max: 1_000 })).records.map(({ id }) => id);
  const both = known.map((record, i) => record !== null && listed.includes(ids[i]!));
  assert.deepEqual(
    both,
    known.map((record) => record !== null),
    'lists and get agree',
  );
  return both.flatMap((isThere, i) => (isThere ? [i] : []));
}

export function ownRetentionLaws(law: Law): void {
  law(
    'a record is kept as long as its settlement says, and the others as long as the store does it',
    async (t) => {
      const ids = [
        await acked(t),
        await acked(t, minute),
        await acked(t, 30 * day),
        await abandoned(t, 'cancelled', 30 * day),
        await abandoned(t, 'permanent'),
        await abandoned(t, 'permanent', minute),
        await abandoned(t, 'permanent', 30 * day),
      ];
      const finished = (await t.stores.records.get(ids[2]!))!.finishedAt!;
      assert.ok(Math.abs(finished - t.now()) < minute, `finished at ${finished}`);
      assert.equal(await purgeAll(t), 0);
      assert.deepEqual(await left(t, ids), [0, 1, 2, 3, 4, 5, 6]);
      await t.advance(2 * minute);
      assert.equal(await purgeAll(t), 2);
      assert.deepEqual(await left(t, ids), [0, 2, 3, 4, 6]);
      await t.advance(2 * day);
      await purgeAll(t);
      assert.deepEqual(await left(t, ids), [2, 3, 4, 6]);
      await t.advance(2 * day);
      await purgeAll(t);
      assert.deepEqual(await left(t, ids), [2, 3, 6]);
      assert.deepEqual(
        (await t.admin.deadLetters.list({})).map(({ id }) => id),
        [ids[6]],
      );
      await t.advance(25 * day);
      assert.equal(await purgeAll(t), 0);
      assert.equal((await t.stores.records.get(ids[2]!))!.finishedAt, finished);
      await t.advance(2 * day);
      assert.equal(await purgeAll(t), 3);
      assert.deepEqual(await left(t, ids), []);
      assert.deepEqual(await t.admin.deadLetters.list({}), []);
    },
    { retention: usual },
  );

  law(
    'what is kept for 0 ms goes with its end, dead letters too',
    async (t) => {
      const ids = [
        await acked(t, 0),
        await abandoned(t, 'cancelled', 0),
        await abandoned(t, 'permanent', 0),
        await acked(t),
      ];
      assert.deepEqual(await left(t, ids), [3]);
      assert.deepEqual(await t.admin.deadLetters.list({}), []);
      for (const id of ids.slice(0, 3)) assert.equal(await t.stores.records.cancel(id), 'unknown');
      await t.nothingEverComes();
    },
    { retention: usual },
  );

  law(
    'where completed jobs are not kept, one that says so is',
    async (t) => {
      const messages = [await t.put(), await t.put(), await t.put()];
      const leases = await t.takeAll(3);
      const ack = (lease: JobLease, keepMs?: number) => ({
        lease,
        report: reportOf(lease, t.now(), 'acked'),
        ...(keepMs !== undefined && { keepMs }),
      });
      const acks = [ack(leases[0]!), ack(leases[1]!, day), ack(leases[2]!, 0)];
      assert.deepEqual(await t.backend.ack(acks), [true, true, true]);
      const ids = messages.map(({ id }) => id);
      const kept = ids.indexOf((await t.stores.records.page({})).records.map(({ id }) => id)[0]!);
      assert.notEqual(kept, -1);
      assert.deepEqual(await left(t, ids), [kept]);
      const cancelled = await abandoned(t, 'cancelled', day);
      assert.deepEqual(await left(t, [cancelled]), [0]);
      await t.advance(day + minute);
      assert.equal(await purgeAll(t), 2);
    },
    { retention: { completedMs: 0 } },
  );

  law(
    'many records that are kept longer are not in the way of a purge of the others',
    async (t) => {
      const end = async (count: number, keepMs?: number) => {
        await t.backend.enqueue(Array.from({ length: count }, () => t.message()));
        const leases = await t.takeAll(count);
        const own = keepMs === undefined ? {} : { keepMs };
        const half = leases.splice(0, count / 2);
        await t.backend.ack(
          leases.map((lease) => ({ lease, report: reportOf(lease, t.now(), 'acked'), ...own })),
        );
        for (const lease of half)
          await t.backend.abandon(lease, { reason: 'permanent', error: 'E: x', ...own });
      };
      for (let i = 0; i < 3; i++) await end(800, 30 * day);
      await t.advance(minute);
      await end(10);
      await t.advance(4 * day);
      assert.equal(await purgeAll(t), 10);
      await t.advance(30 * day);
      assert.equal(await purgeAll(t), 2_400);
    },
    { retention: usual },
  );

  law(
    'a dead letter that was retried is kept as long as its new end says',
    async (t) => {
      const id = await abandoned(t, 'permanent', 30 * day);
      await t.admin.deadLetters.retry([id]);
      assert.equal(await t.ack(await t.take()), true);
      await t.advance(day + minute);
      await t.advance(day);
      await purgeAll(t);
      assert.deepEqual(await left(t, [id]), []);
    },
    { retention: usual },
  );

  law(
    'an age that is given is longer or shorter by the same time',
    async (t) => {
      const [shorter, longer] = [await acked(t, day / 2), await acked(t, 2 * day)];
      await t.advance(minute);
      assert.equal(await purgeAll(t, { completedMs: day / 2, deadMs: 3 * day }), 1);
      assert.deepEqual(await left(t, [shorter, longer]), [1]);
      await t.advance(1.5 * day);
      assert.equal(await purgeAll(t, { completedMs: day / 2, deadMs: 3 * day }), 1);
    },
    { retention: usual },
  );

  law(
    'a stale owner has no say in how long a record is kept',
    async (t) => {
      const { id } = await t.put();
      const lease = await t.take();
      assert.equal(await t.ack(lease), true);
      const report = reportOf(lease, t.now(), 'acked');
      assert.deepEqual(await t.backend.ack([{ lease, report, keepMs: 0 }]), [false]);
      assert.equal(await t.backend.abandon(lease, { reason: 'permanent', error: 'E: x', keepMs: 0 }), false);
      assert.deepEqual(await left(t, [id]), [0]);
    },
    { retention: usual },
  );
}
