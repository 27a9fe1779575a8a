import assert from 'node:assert/strict';
import type { AuditEntry, AuditLog } from '../../../core/contract/derived/audit.ts';
import { auditKeepMs } from '../../../core/kit/records/audit-log.ts';
import { cursorOf } from '../../../core/kit/records/filter.ts';
import { auditEntry } from './audit-entry.ts';
import { day, hour, type Kit, minute } from './kit.ts';
import type { Law } from './law.ts';

/** The log of every opening of the storage. */
function logsOf(t: Kit): AuditLog[] {
  return t.openings.map(({ name, stores }) => {
    assert.ok(stores?.audit, `the stores of "${name}" keep no audit log and declare no lack of it`);
    return stores.audit;
  });
}

const entryOf = (t: Kit, id: string, change: Partial<AuditEntry> = {}): AuditEntry =>
  auditEntry(id, t.now(), change);

/** All pages, followed from cursor to cursor. */
async function readAll(
  log: AuditLog,
  max: number,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<AuditEntry[][]> {
  const pages: AuditEntry[][] = [];
  for (let after: string | undefined; ; ) {
    const { entries, next } = await log.page({ max, ...(after !== undefined && { after }) });
    pages.push([...entries]);
    if (next === null) return pages;
    assert.ok(pages.length < 3_000, 'expected the pages to end');
    assert.equal(entries.length, max, 'a page that has a next one is full');
    await between(pages.length);
    after = next;
  }
}

const idsOf = (pages: readonly AuditEntry[][]): string[] => pages.flat().map(({ id }) => id);

const texts = [
  'Grüße, мир, 世界 \u{1f600} \u202eabc',
  `'; DROP TABLE audit; -- "\\" \\n %s $1 ? :a {{x}} <b>&amp;</b> \u2028 \u0000 \ud800`,
  '',
  ' a\nb\t',
];

export function auditLaws(law: Law): void {
  law('an entry of the audit log comes back to the letter', async (t) => {
    const logs = logsOf(t);
    const entries = [
      entryOf(t, 'begun', { phase: 'begun', count: null }),
      entryOf(t, 'failed', { phase: 'failed', count: 0, note: 'the queue gave no answer' }),
      ...texts.map((text, n) =>
        entryOf(t, `text-${n}`, {
          operation: text,
          actor: text,
          from: text,
          action: text,
          target: text,
          note: text,
        }),
      ),
    ];
    for (const entry of entries) await logs[0]!.append(entry);
    for (const log of logs) {
      const { entries: found, next } = await log.page({});
      const byId = new Map(found.map((entry) => [entry.id, entry]));
      assert.deepEqual([...byId.keys()].sort(), entries.map(({ id }) => id).sort());
      for (const entry of entries) assert.deepEqual(byId.get(entry.id), entry);
      assert.equal(next, null);
    }
  });

  law('an audit log without entries has one page, and it is empty', async (t) => {
    const [log] = logsOf(t);
    assert.deepEqual(await log!.page({}), { entries: [], next: null });
    assert.deepEqual(await log!.page({ max: 1 }), { entries: [], next: null });
  });

  law('the same entry twice is kept once, and its first text stays', async (t) => {
    const logs = logsOf(t);
    const entry = entryOf(t, 'twice');
    await logs[0]!.append(entry);
    for (const log of logs) {
      await log.append(entry);
      await log.append({ ...entry, actor: 'ben', note: 'written over' });
      await log.append({ ...entry, at: entry.at + minute, note: 'of another moment' });
      assert.deepEqual(await log.page({}), { entries: [entry], next: null });
    }
  });

  law('many that append the same entry at once leave one', async (t) => {
    const logs = logsOf(t);
    const entries = Array.from({ length: 5 }, (_, n) => entryOf(t, `id-${n}`));
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        Promise.all(entries.map((entry) => logs[n % logs.length]!.append(entry))),
      ),
    );
    assert.deepEqual((await logs[0]!.page({})).entries, entries.toReversed());
  });

  law('entries go by time, newest first, whatever the order of writing; in a moment by id', async (t) => {
    const [log] = logsOf(t);
    const now = t.now();
    const at = [now - 400 * day, now - hour, now - 1, now, now + 1, now + day];
    const ids = ['A', 'a', 'a-', 'a0', 'ab', 'b', 'B1', '~', '!', 'x'.repeat(90), `${'x'.repeat(89)}y`];
    const unique = at.flatMap((moment, n) =>
      ids.map((id) => entryOf(t, n === 0 ? id : `${id}${'#/\\?%_:'[n]}${n}`, { at: moment })),
    );
    const sorted = unique.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
    let seed = 4;
    const shuffled = unique.toSorted(() => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed - 1_073_741_824;
    });
    for (const entry of shuffled) await log!.append(entry);
    for (const max of [1, 2, 7, 100])
      assert.deepEqual(
        idsOf(await readAll(log!, max)),
        sorted.map(({ id }) => id),
        `max ${max}`,
      );
  });

  law('a page has 100 entries unless another number is asked for', async (t) => {
    const [log] = logsOf(t);
    for (let n = 0; n < 101; n++)
      await log!.append(entryOf(t, `id-${String(n).padStart(3, '0')}`, { at: t.now() + n }));
    const { entries, next } = await log!.page({});
    assert.equal(entries.length, 100);
    assert.equal(entries[0]!.id, 'id-100');
    assert.deepEqual(
      (await log!.page({ after: next! })).entries.map(({ id }) => id),
      ['id-000'],
    );
    assert.equal((await log!.page({ max: 101 })).next, null);
    assert.deepEqual(await log!.page({ max: 0 }), { entries: [], next: null });
  });

  law('entries that come between two pages are on neither, and move none', async (t) => {
    const [log, other = log] = logsOf(t);
    const start = t.now();
    const before = Array.from({ length: 9 }, (_, n) => entryOf(t, `before-${n}`, { at: start + n }));
    for (const entry of before) await log!.append(entry);
    const pages = await readAll(log!, 2, (page) =>
      other!.append(entryOf(t, `new-${page}`, { at: start + day + page })),
    );
    assert.deepEqual(idsOf(pages), before.map(({ id }) => id).reverse());
    assert.equal(idsOf(await readAll(log!, 100)).length, 13);
  });

  law('a cursor of the audit log that is none is refused', async (t) => {
    const [log] = logsOf(t);
    await log!.append(entryOf(t, 'one'));
    const wrong = [
      '',
      'x',
      '🙂',
      cursorOf('one', t.now()),
      cursorOf(t.now()),
      cursorOf(t.now(), 'one', 'two'),
      cursorOf(-1, 'one'),
      cursorOf(t.now(), ''),
      cursorOf(t.now(), `' or PartitionKey ge '`),
      cursorOf(t.now(), 'x'.repeat(101)),
    ];
    for (const after of wrong) await assert.rejects(log!.page({ after }), { code: 'OPTION' }, after);
  });

  law('texts of the audit log are bounded, and an id that is none is refused', async (t) => {
    const [log] = logsOf(t);
    const long = `${'\u{1f600}'.repeat(400)}`;
    await log!.append(
      entryOf(t, 'long', {
        operation: long,
        actor: long,
        from: long,
        action: long,
        target: long,
        note: long,
      }),
    );
    const [entry] = (await log!.page({})).entries;
    assert.equal(entry!.target, `${'\u{1f600}'.repeat(249)}…`);
    assert.equal(entry!.note, entry!.target);
    for (const text of [entry!.operation, entry!.actor, entry!.from, entry!.action])
      assert.equal(text, `${'\u{1f600}'.repeat(127)}…`);
    for (const id of ['', 'a b', 'ü', '\u0000', 'x'.repeat(101)])
      await assert.rejects(log!.append(entryOf(t, id)), { code: 'OPTION' }, id);
    assert.equal((await log!.page({})).entries.length, 1);
  });

  law('of a thousand entries any page is found', async (t) => {
    const [log] = logsOf(t);
    const start = t.now();
    // 250 moments with four entries each.
    const entries = Array.from({ length: 1_000 }, (_, n) =>
      entryOf(t, `id-${String(n).padStart(4, '0')}`, { at: start + Math.floor(n / 4) }),
    );
    for (let n = 0; n < entries.length; n += 50)
      await Promise.all(entries.slice(n, n + 50).map((entry) => log!.append(entry)));
    const ids = entries.map(({ id }) => id).reverse();
    assert.deepEqual(idsOf(await readAll(log!, 90)), ids);
    const { entries: last } = await log!.page({ max: 3, after: cursorOf(start + 1, 'id-0005') });
    assert.deepEqual(
      last.map(({ id }) => id),
      ['id-0004', 'id-0003', 'id-0002'],
    );
  });

  law(
    'no purge of records removes anything from the audit log',
    async (t) => {
      const [log] = logsOf(t);
      const entry = entryOf(t, 'kept');
      await log!.append(entry);
      await t.put();
      await t.ack(await t.take());
      await t.advance(400 * day);
      for (let gone = 1; gone > 0; ) gone = await t.stores.records.purge();
      for (let gone = 1; gone > 0; ) gone = await t.stores.records.purge({ completedMs: 0, deadMs: 0 });
      assert.deepEqual((await log!.page({})).entries, [entry]);
    },
    { takesTime: true },
  );
}

export function auditPurgeLaws(law: Law): void {
  law('a purge removes the entries before a moment, and no others', async (t) => {
    const logs = logsOf(t);
    const before = t.now();
    const past = ['before', 'ago', '~'].map((id, n) => entryOf(t, id, { at: before - 1 - n * day }));
    const kept = [entryOf(t, 'then', { at: before }), entryOf(t, 'after', { at: before + 1 })];
    for (const entry of [...past, ...kept]) await logs[0]!.append(entry);
    const counts = await Promise.all(logs.map((log) => purgeAll(log, before)));
    assert.equal(
      counts.reduce((sum, count) => sum + count, await purgeAll(logs[0]!, before)),
      past.length,
    );
    for (const log of logs) assert.deepEqual((await log.page({})).entries, kept.toReversed());
    // Nothing of it is left: its id may be used again.
    await logs[0]!.append(past[0]!);
    assert.deepEqual(idsOf(await readAll(logs[0]!, 2)), ['after', 'then', 'before']);
  });

  law('a purge between two pages ends them', async (t) => {
    const [log] = logsOf(t);
    for (let n = 0; n < 4; n++) await log!.append(entryOf(t, `id-${n}`, { at: t.now() + n }));
    const { next } = await log!.page({ max: 2 });
    assert.equal(await purgeAll(log!, t.now() + 3), 3);
    assert.deepEqual(await log!.page({ max: 2, after: next! }), { entries: [], next: null });
  });
}

async function purgeAll(log: AuditLog, before: number): Promise<number> {
  let count = 0;
  for (let gone = 1; gone > 0; count += gone) gone = await log.purge(before + auditKeepMs);
  return count;
}
