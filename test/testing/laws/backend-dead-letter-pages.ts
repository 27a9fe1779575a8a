import assert from 'node:assert/strict';
import type { DeadLetterSummary } from '../../../core/contract/admin.ts';
import { getDeadLetter, pageOfDeadLetters } from '../../../core/kit/records/dead-letter-pages.ts';
import { die } from './backend-dead-letters.ts';
import { idsOf, type Kit, mail, reports, second } from './kit.ts';
import type { Law } from './law.ts';

/** All pages after `after`, each of two. */
async function pagesOf(t: Kit, queue?: string, after?: string): Promise<DeadLetterSummary[]> {
  const letters: DeadLetterSummary[] = [];
  for (let next = after; ; ) {
    const page = await pageOfDeadLetters(t.admin.deadLetters, {
      max: 2,
      ...(queue && { queue }),
      ...(next && { after: next }),
    });
    assert.ok(page.letters.length <= 2);
    letters.push(...page.letters);
    if (page.next === null) return letters;
    next = page.next;
  }
}

export function deadLetterPageLaws(law: Law): void {
  law('pages list every dead letter once, newest first, without its text', async (t) => {
    const died = [];
    for (let i = 0; i < 5; i++) {
      died.unshift(await die(t, i % 2 ? mail : reports));
      await t.advance(second);
    }
    const letters = await pagesOf(t);
    assert.deepEqual(idsOf(letters), idsOf(died));
    const listed = await t.admin.deadLetters.list({});
    assert.deepEqual(
      letters.map(({ bytes, tenantId, ...rest }) => rest),
      listed.map(({ body, ...rest }) => rest),
    );
    assert.deepEqual(
      letters.map(({ bytes }) => bytes),
      listed.map(({ body }) => Buffer.byteLength(body)),
    );
    assert.deepEqual(idsOf(await pagesOf(t, mail)), idsOf([died[1]!, died[3]!]));
    assert.deepEqual(idsOf(await pagesOf(t, reports)), idsOf([died[0]!, died[2]!, died[4]!]));
  });

  law('there is one empty page where there are no dead letters, or none are wanted', async (t) => {
    const none = { letters: [], next: null };
    assert.deepEqual(await pageOfDeadLetters(t.admin.deadLetters, {}), none);
    await die(t);
    assert.deepEqual(await pageOfDeadLetters(t.admin.deadLetters, { queue: reports }), none);
    assert.deepEqual(await pageOfDeadLetters(t.admin.deadLetters, { max: 0 }), none);
  });

  law('letters that died together are each on one page', async (t) => {
    const messages = [];
    for (let i = 0; i < 5; i++) messages.push(await t.put());
    for (const lease of await t.takeAll())
      await t.backend.abandon(lease, { reason: 'exhausted', error: 'HANDLER: no' });
    assert.deepEqual(idsOf(await pagesOf(t)).sort(), idsOf(messages).sort());
    const all = idsOf(await pagesOf(t, mail));
    assert.deepEqual(all.toSorted(), idsOf(messages).sort());
    const { letters, next } = await pageOfDeadLetters(t.admin.deadLetters, { max: 2 });
    await t.admin.deadLetters.discard([letters[1]!.id]);
    assert.deepEqual(idsOf(await pagesOf(t, undefined, next!)), all.slice(2));
  });

  law('what stays is on one page, whatever comes and goes between two pages', async (t) => {
    const died = [];
    for (let i = 0; i < 6; i++) {
      died.unshift(await die(t));
      await t.advance(second);
    }
    const { deadLetters } = t.admin;
    const first = await pageOfDeadLetters(deadLetters, { max: 2 });
    assert.deepEqual(idsOf(first.letters), idsOf(died.slice(0, 2)));
    // The last of the first page, at which the cursor points, and the first of the second.
    assert.equal(await deadLetters.discard([died[1]!.id, died[2]!.id]), 2);
    await die(t);
    assert.deepEqual(idsOf(await pagesOf(t, undefined, first.next!)), idsOf(died.slice(3)));
  });

  law('a cursor that is none is refused', async (t) => {
    await die(t);
    for (const after of ['', 'x', 'WyJ4IiwieCIsIngiXQ'])
      await assert.rejects(pageOfDeadLetters(t.admin.deadLetters, { after }), { code: 'OPTION' });
  });

  law('a dead letter is found by its id, and nothing else is', async (t) => {
    const [one, other] = [await die(t), await die(t, reports)];
    const waiting = await t.put();
    const { deadLetters } = t.admin;
    const listed = await deadLetters.list({});
    for (const { id } of [one, other])
      assert.deepEqual(
        await getDeadLetter(deadLetters, id),
        listed.find((letter) => letter.id === id),
      );
    for (const id of [waiting.id, 'unknown']) assert.equal(await getDeadLetter(deadLetters, id), null);
  });

  law('a letter has the tenant that the queue was told, where it remembers tenants', async (t) => {
    const { id } = await t.put({ tenantId: 'acme' });
    await t.backend.abandon(await t.take(), { reason: 'permanent', error: 'HANDLER: no' });
    const record = t.admin.deadLetters.page && (await t.backend.stores?.records.get(id));
    const [letter] = await pagesOf(t);
    assert.equal(letter?.tenantId, record?.tenantId ?? null);
  });
}
