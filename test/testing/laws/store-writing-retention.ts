/** How long a written record is shown, and how long it is remembered. */

import assert from 'node:assert/strict';
import type { Retention } from '../../../core/contract/store.ts';
import { day, type Kit, minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { type Recorder, recorder, reportAt } from './store-writing-kit.ts';

async function purgeAll(t: Kit, olderThan?: Retention): Promise<void> {
  for (let step = 0; step < 1_000; step++) {
    if ((await t.stores.records.purge(olderThan)) === 0) return;
  }
  throw new assert.AssertionError({ message: 'purge must come to an end' });
}

/** One job in every state that attempts bring about, all of them now. */
async function oneOfEach(t: Kit) {
  const ended = async (...end: Partial<Parameters<Recorder['settled']>>[1][]) => {
    const one = recorder(t);
    await one.enqueued();
    if (end.length > 0) await one.started(1);
    if (end[0]) await one.settled(reportAt(t, 1, t.now(), end[0].reason ? 'rejected' : 'acked'), end[0]);
    return one.job.id;
  };
  return {
    ended: [await ended({}), await ended({ reason: 'cancelled', error: '' })],
    dead: [await ended({ reason: 'permanent', error: '' }), await ended({ reason: 'expired', error: '' })],
    live: [await ended(undefined), await ended({ runAt: t.now() + 500 * day }), await ended()],
  };
}

async function shown(t: Kit): Promise<string[]> {
  const listed = (await t.stores.records.page({})).records.map(({ id }) => id);
  for (const id of listed) assert.notEqual(await t.stores.records.get(id), null);
  return listed.sort();
}

async function assertGone(t: Kit, ids: readonly string[]): Promise<void> {
  const { records } = t.stores;
  for (const id of ids) {
    assert.equal(await records.get(id), null);
    assert.equal(await records.cancel(id), 'unknown');
  }
}

export function writtenRetentionLaws(law: Law): void {
  law(
    'a record is shown as long as the store was asked to, a live one always',
    async (t) => {
      const { ended, dead, live } = await oneOfEach(t);
      await t.advance(day - second);
      await purgeAll(t);
      assert.deepEqual(await shown(t), [...ended, ...dead, ...live].sort());
      await t.advance(second);
      assert.deepEqual(await shown(t), [...dead, ...live].sort());
      await assertGone(t, ended);
      await purgeAll(t);
      assert.deepEqual(await shown(t), [...dead, ...live].sort());
      await t.advance(2 * day);
      await purgeAll(t);
      assert.deepEqual(await shown(t), live.toSorted());
      await assertGone(t, [...ended, ...dead]);
    },
    { retention: { completedMs: day, deadMs: 3 * day } },
  );

  law('purge removes what is older than given, and never a live job', async (t) => {
    const old = await oneOfEach(t);
    await t.advance(day);
    const recent = await oneOfEach(t);
    const all = [...recent.ended, ...recent.dead, ...recent.live, ...old.live];
    await purgeAll(t, { completedMs: 2 * day, deadMs: 2 * day });
    assert.deepEqual(await shown(t), [...all, ...old.ended, ...old.dead].sort());
    await purgeAll(t, { completedMs: day / 2, deadMs: 2 * day });
    assert.deepEqual(await shown(t), [...all, ...old.dead].sort());
    await assertGone(t, old.ended);
    await purgeAll(t, { completedMs: day / 2, deadMs: day / 2 });
    assert.deepEqual(await shown(t), all.sort());
    await assertGone(t, old.dead);
    await t.advance(minute);
    await purgeAll(t, { completedMs: 0, deadMs: 0 });
    assert.deepEqual(await shown(t), [...old.live, ...recent.live].sort());
  });

  law(
    'with a retention of 0 a record goes when the job ends, and a late word of its sender does not bring it back',
    async (t) => {
      const { job, enqueued, started, settled } = recorder(t);
      const at = t.now();
      await started(1);
      await settled(reportAt(t, 1, at, 'acked'));
      await assertGone(t, [job.id]);
      await t.advance(second);
      await purgeAll(t);
      await enqueued();
      await assertGone(t, [job.id]);
      assert.deepEqual(await shown(t), []);
    },
    { retention: { completedMs: 0 } },
  );

  law(
    'a record with a retention of its own is shown that long',
    async (t) => {
      const ended = async (keepMs: number, reason: 'permanent' | null) => {
        const one = recorder(t);
        await one.enqueued();
        await one.started(1);
        const why = reason === null ? {} : { reason, error: 'E: x' };
        await one.settled(reportAt(t, 1, t.now(), reason ? 'rejected' : 'acked'), { ...why, keepMs });
        return one.job.id;
      };
      const [gone, goneToo] = [await ended(0, null), await ended(0, 'permanent')];
      await assertGone(t, [gone, goneToo]);
      const short = [await ended(minute, null), await ended(minute, 'permanent')];
      const long = [await ended(30 * day, null), await ended(30 * day, 'permanent')];
      assert.deepEqual(await shown(t), [...short, ...long].sort());
      await t.advance(minute + second);
      await assertGone(t, short);
      await t.advance(29 * day);
      await purgeAll(t);
      assert.deepEqual(await shown(t), long.toSorted());
      await t.advance(2 * day);
      await purgeAll(t);
      assert.deepEqual(await shown(t), []);
    },
    { retention: { completedMs: day, deadMs: 3 * day } },
  );

  law('what was purged is as if it had never been', async (t) => {
    const { ended, dead } = await oneOfEach(t);
    await t.advance(minute);
    await purgeAll(t, { completedMs: 0, deadMs: 0 });
    await assertGone(t, [...ended, ...dead]);
    const again = recorder(t, { id: ended[0]! });
    await again.enqueued();
    assert.deepEqual([(await again.record()).status, (await again.record()).attempts], ['pending', []]);
  });
}
