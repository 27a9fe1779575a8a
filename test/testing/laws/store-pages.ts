/** Lists of records by what people look for, page by page. */

import assert from 'node:assert/strict';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { JobRecord, RecordFilter } from '../../../core/contract/store.ts';
import { day, hour, type Kit, reportOf, reports, second } from './kit.ts';
import type { Law } from './law.ts';
import { allFacts, ranOn } from './store-facts.ts';

/** The ids of each page, for all pages. */
async function pagesOf(
  t: Kit,
  filter: RecordFilter,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<string[][]> {
  const { records } = t.stores;
  assert.ok(records.page, 'the store offers no pages');
  const pages: string[][] = [];
  for (let after: string | undefined; ; ) {
    const { records: found, next } = await records.page({ ...filter, ...(after !== undefined && { after }) });
    pages.push(found.map(({ id }) => id));
    if (next === null) return pages;
    assert.ok(pages.length < 100, 'expected the pages to end');
    await between(pages.length);
    after = next;
  }
}

const all = async (t: Kit, filter: RecordFilter): Promise<string[]> => (await pagesOf(t, filter)).flat();

/** Newest first; the store says in which order it lists those of the same age. */
async function putMany(t: Kit, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    ids.unshift((await t.put()).id);
    // Some are of the same age.
    if (i % 3 === 0) await t.advance(second);
  }
  const records = (await t.stores.records.page({})).records;
  const listed = records.map(({ id }) => id);
  assert.deepEqual(listed.toSorted(), ids.toSorted());
  assert.ok(records.every(({ createdAt }, i) => createdAt <= (records[i - 1]?.createdAt ?? Infinity)));
  return listed;
}

/** Puts a message a moment after the last one. */
async function putAlone(t: Kit, change: Partial<OutgoingMessage> = {}): Promise<OutgoingMessage> {
  await t.advance(second);
  return t.put(change);
}

export function pageLaws(law: Law): void {
  law('the pages of a list have each record once, newest first', async (t) => {
    const ids = await putMany(t, 7);
    for (const max of [1, 2, 3, 7, 100]) {
      const pages = await pagesOf(t, { max });
      assert.deepEqual(pages.flat(), ids, `max ${max}`);
      assert.ok(pages.every(({ length }) => length <= max));
    }
    assert.deepEqual(
      (await t.stores.records.page({ max: 3 })).records.map(({ id }) => id),
      ids.slice(0, 3),
    );
  });

  law('pages may end between jobs that came at once', async (t) => {
    await t.put();
    await t.advance(second);
    await t.backend.enqueue(Array.from({ length: 30 }, () => t.message()));
    await t.advance(second);
    await t.put();
    const ids = (await t.stores.records.page({})).records.map(({ id }) => id);
    assert.equal(ids.length, 32);
    for (const max of [1, 4, 31]) assert.deepEqual(await all(t, { max }), ids, `max ${max}`);
  });

  law('a list of nothing has no further page', async (t) => {
    assert.deepEqual(await pagesOf(t, {}), [[]]);
    await t.put();
    assert.deepEqual(await pagesOf(t, { max: 0 }), [[]]);
    assert.deepEqual(await pagesOf(t, { queue: reports, tenantId: 'nobody' }), [[]]);
  });

  law('what comes, ends or moves between two pages shifts none of the others', async (t) => {
    const ids = await putMany(t, 8);
    const listed = await pagesOf(t, { max: 2 }, async (page) => {
      await t.advance(second);
      await t.put();
      const [lease] = await t.takeAll(1);
      if (page === 1) await t.ack(lease!);
      else await t.backend.nack(lease!, { delayMs: hour, countAttempt: true });
    });
    assert.deepEqual(listed.flat(), ids);
  });

  law('a text that is no cursor is refused', async (t) => {
    await t.put();
    for (const after of ['', 'x', 'W10', 'W251bGxd', "1'; --", '[1,2]']) {
      const page = async () => t.stores.records.page({ after });
      await assert.rejects(page, { code: 'OPTION' }, after);
    }
  });

  law('a list can be narrowed by tenant, key, schedule and the beginning of the id', async (t) => {
    const mine = await putAlone(t, { tenantId: 'açme', facts: allFacts });
    const keyed = await putAlone(t, { facts: { idempotencyKey: '100%_' } });
    const nightly = await putAlone(t, { tenantId: 'other', facts: { schedule: 'nightly', name: 'nightly' } });
    const plain = await putAlone(t);
    const lists: readonly (readonly [RecordFilter, readonly string[]])[] = [
      [{ tenantId: 'açme' }, [mine.id]],
      [{ tenantId: 'acme' }, []],
      [{ idempotencyKey: allFacts.idempotencyKey! }, [mine.id]],
      [{ idempotencyKey: '100%_' }, [keyed.id]],
      [{ idempotencyKey: '%' }, []],
      [{ schedule: 'nightly' }, [nightly.id, mine.id]],
      [{ schedule: 'nightly', tenantId: 'other' }, [nightly.id]],
      [{ schedule: 'night' }, []],
      [{ idPrefix: plain.id }, [plain.id]],
      [{ idPrefix: plain.id.slice(0, -1) }, [plain.id, nightly.id, keyed.id, mine.id]],
      [{ idPrefix: '%' }, []],
    ];
    const check = async () => {
      for (const [filter, ids] of lists) assert.deepEqual(await all(t, filter), ids, JSON.stringify(filter));
    };
    await check();
    const [first, , third] = await t.takeAll(4);
    await t.ack(first!);
    await t.backend.abandon(third!, { reason: 'permanent', error: '' });
    await check();
    assert.deepEqual(await all(t, { schedule: 'nightly', status: 'completed' }), [mine.id]);
  });

  law('a list can be narrowed by the time of creation', async (t) => {
    const ids: string[] = [];
    const at: number[] = [];
    for (let i = 0; i < 3; i++) {
      const { id } = await putAlone(t);
      ids.push(id);
      at.push((await t.stores.records.get(id))!.createdAt);
      await t.advance(hour);
    }
    assert.deepEqual(await all(t, { createdFrom: at[1]! }), [ids[2], ids[1]]);
    assert.deepEqual(await all(t, { createdBefore: at[1]! }), [ids[0]]);
    assert.deepEqual(await all(t, { createdFrom: at[1]!, createdBefore: at[2]!, max: 1 }), [ids[1]]);
    assert.deepEqual(await all(t, { createdFrom: at[2]! + day }), []);
    assert.deepEqual(
      await all(t, { createdFrom: at[0]! - day, createdBefore: at[2]! + day }),
      ids.toReversed(),
    );
  });

  law('a list can be narrowed by worker and by host, of any attempt', async (t) => {
    const [a, b, c] = [await putAlone(t), await putAlone(t), await putAlone(t)];
    const [first, other, third] = await t.takeAll(3);
    await t.backend.ack([{ lease: first!, report: ranOn(first!, t.now(), { outcome: 'acked' }) }]);
    const elsewhere = ranOn(other!, t.now(), { worker: 'worker-8', host: 'ip-10-0-0-8' });
    await t.backend.nack(other!, { delayMs: 0, countAttempt: true, report: elsewhere });
    await t.backend.nack(third!, { delayMs: hour, countAttempt: true, report: ranOn(third!, t.now()) });
    const again = await t.take();
    await t.backend.nack(again, { delayMs: hour, countAttempt: true, report: ranOn(again, t.now()) });
    assert.deepEqual(await all(t, { worker: 'worker-7' }), [c.id, b.id, a.id]);
    assert.deepEqual(await all(t, { worker: 'worker-7', max: 1 }), [c.id, b.id, a.id]);
    assert.deepEqual(await all(t, { worker: 'ip-10-0-0-8' }), [b.id]);
    assert.deepEqual(await all(t, { worker: 'worker' }), []);
    assert.deepEqual(await all(t, { worker: 'worker-7', status: 'completed' }), [a.id]);
  });

  law('a list can be narrowed by a piece of an error, of the job or of an attempt', async (t) => {
    const failing = async (message: string, dies: boolean): Promise<JobRecord['id']> => {
      const { id } = await putAlone(t);
      const lease = await t.take();
      const error = { code: 'HANDLER', message, stack: 'Error: only in the stack' };
      const report = reportOf(lease, t.now(), dies ? 'dead-lettered' : 'requeued', { error });
      if (dies) await t.backend.abandon(lease, { reason: 'permanent', error: `HANDLER: ${message}`, report });
      else await t.backend.nack(lease, { delayMs: hour, countAttempt: true, report });
      return id;
    };
    const odd = 'says “100 %_ off” \\ "now"\nü';
    const [dead, retrying, other] = [
      await failing(odd, true),
      await failing(odd, false),
      await failing('no', true),
    ];
    for (const piece of ['100 %_', '“100', '\\ "now"\nü', odd]) {
      assert.deepEqual(await all(t, { error: piece }), [retrying, dead], piece);
    }
    assert.deepEqual(await all(t, { error: 'HANDLER: no' }), [other]);
    assert.deepEqual(await all(t, { error: '%' }), [retrying, dead]);
    for (const piece of ['SAYS', 'only in the stack', 'off_'])
      assert.deepEqual(await all(t, { error: piece }), [], piece);
  });
}
