import assert from 'node:assert/strict';
import { getDeadLetter } from '../../../core/kit/records/dead-letter-pages.ts';
import { die } from './backend-dead-letters.ts';
import { bodiesOf, idsOf, type Kit, mail } from './kit.ts';
import type { Law } from './law.ts';

/** The text of a message with another payload. */
const edited = ({ body }: { readonly body: string }, payload: unknown): string =>
  JSON.stringify({ ...JSON.parse(body), payload });

const dieAgain = async (t: Kit) =>
  assert.equal(await t.backend.abandon(await t.take(), { reason: 'permanent', error: 'HANDLER: no' }), true);

export function deadLetterEditLaws(law: Law): void {
  law('a dead letter that is retried with another text runs with it, as attempt 1', async (t) => {
    const dead = await die(t);
    const body = edited(dead, { mended: 'ü 🚢 \u2028' });
    assert.equal(await t.admin.deadLetters.retry([dead.id], new Map([[dead.id, { body }]])), 1);
    assert.equal(await getDeadLetter(t.admin.deadLetters, dead.id), null);
    if (!t.lacks('administration')) {
      const [peeked] = await t.admin.peek(mail, 10);
      assert.deepEqual([peeked?.id, peeked?.job, peeked?.priority], [dead.id, dead.job, dead.priority]);
    }
    const lease = await t.take();
    assert.deepEqual([lease.body, lease.attempt, lease.interrupted], [body, 1, false]);
    await t.nothingComes();
    assert.equal(await t.ack(lease), true);
    await t.nothingEverComes();
  });

  law('of letters that are retried together each has its own text', async (t) => {
    const [first, second, third] = [await die(t), await die(t), await die(t)];
    const replaced = new Map([first, third].map((one) => [one.id, { body: edited(one, one.id) }]));
    assert.equal(await t.admin.deadLetters.retry(idsOf([first, second, third]), replaced), 3);
    const expected = [edited(first, first.id), second.body, edited(third, third.id)];
    assert.deepEqual(bodiesOf(await t.takeAll()).sort(), expected.sort());
  });

  law('only the letters that are named are retried, whatever else has a new text', async (t) => {
    const [named, other] = [await die(t), await die(t)];
    const replaced = new Map([[other.id, { body: edited(other, 'new') }]]);
    assert.equal(await t.admin.deadLetters.retry([named.id], replaced), 1);
    assert.deepEqual(bodiesOf(await t.takeAll()), [named.body]);
    assert.equal((await getDeadLetter(t.admin.deadLetters, other.id))?.body, other.body);
  });

  law('a new text for what is no dead letter is not found, and makes nothing', async (t) => {
    const gone = await die(t);
    await t.admin.deadLetters.discard([gone.id]);
    const waiting = await t.put();
    const unknown = t.message();
    const ids = idsOf([gone, waiting, unknown]);
    const replaced = new Map([gone, waiting, unknown].map((one) => [one.id, { body: edited(one, 'new') }]));
    assert.equal(await t.admin.deadLetters.retry(ids, replaced), 0);
    assert.deepEqual(bodiesOf(await t.takeAll()), [waiting.body]);
    assert.deepEqual(await t.admin.deadLetters.list({}), []);
  });

  law('a text that is too large for the queue is refused before anything changes', async (t) => {
    const { maxBodyBytes } = t.backend.limits;
    assert.ok(maxBodyBytes < 50_000_000, 'expected a limit that a test can exceed');
    const [good, large] = [await die(t), await die(t)];
    const replaced = new Map([
      [good.id, { body: edited(good, 'new') }],
      [large.id, { body: edited(large, 'x'.repeat(maxBodyBytes)) }],
    ]);
    await assert.rejects(t.admin.deadLetters.retry(idsOf([good, large]), replaced), { code: 'LIMIT' });
    await t.nothingComes();
    for (const { id, body } of [good, large])
      assert.equal((await getDeadLetter(t.admin.deadLetters, id))?.body, body);
  });

  law('a letter that dies again with its new text is listed with it, and can be mended again', async (t) => {
    const dead = await die(t);
    for (const payload of ['second', 'third']) {
      const body = edited(dead, payload);
      await t.admin.deadLetters.retry([dead.id], new Map([[dead.id, { body }]]));
      await dieAgain(t);
      assert.deepEqual(
        (await t.admin.deadLetters.list({})).map((letter) => [letter.id, letter.body, letter.attempt]),
        [[dead.id, body, 1]],
      );
    }
    await t.admin.deadLetters.retry([dead.id]);
    assert.equal((await t.take()).body, edited(dead, 'third'));
  });

  law(
    'of two who mend one letter at once at least one succeeds, and it runs with one of their texts',
    async (t) => {
      const dead = await die(t);
      const texts = [edited(dead, 'one'), edited(dead, 'other')];
      const counts = await Promise.all(
        texts.map((body, i) => {
          const { admin } = t.openings[i % t.openings.length]!;
          return admin!.deadLetters.retry([dead.id], new Map([[dead.id, { body }]]));
        }),
      );
      assert.ok(counts.includes(1));
      const leases = await t.takeAll();
      assert.ok(leases.length >= 1);
      assert.ok(bodiesOf(leases).every((body) => texts.includes(body)));
    },
  );
}
