import assert from 'node:assert/strict';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import { bodiesOf, idsOf, type Kit, mail, minute, reports, second } from './kit.ts';
import type { Law } from './law.ts';

/** Puts one message and lets it die. */
export async function die(t: Kit, queue: string = mail, reason: AbandonReason = 'exhausted') {
  const message = await t.put({ queue });
  const lease = await t.take({ queues: [queue] });
  assert.equal(await t.backend.abandon(lease, { reason, error: `HANDLER: ${reason}` }), true);
  return message;
}

export function deadLetterLaws(law: Law): void {
  law('two dead copies of one message are retried as one', async (t) => {
    const { id, ...message } = await t.put();
    const copy = { id, ...message, hints: { move: 'copy' } };
    await t.backend.enqueue([copy]);
    const why = { reason: 'permanent', error: 'HANDLER: no' } as const;
    for (const lease of await t.takeAll()) assert.equal(await t.backend.abandon(lease, why), true);
    assert.equal(await t.admin.deadLetters.retry([id]), 1);
    assert.equal(await t.ack(await t.take()), true);
    await t.nothingComes();
    assert.deepEqual(await t.admin.deadLetters.list({}), []);
  });

  law('an abandoned message is listed with its reason, error, attempt, time and body', async (t) => {
    const { id, queue, job, body } = await t.put();
    await t.backend.nack(await t.take(), { delayMs: 0, countAttempt: true });
    const lease = await t.take();
    await t.advance(second);
    const earliest = t.now();
    await t.backend.abandon(lease, { reason: 'permanent', error: 'HANDLER: no such invoice “1042” 🚢' });
    const [letter, ...others] = await t.admin.deadLetters.list({});
    assert.ok(letter);
    assert.deepEqual(others, []);
    assert.ok(letter.diedAt >= earliest && letter.diedAt <= t.now());
    const { diedAt: _, ...rest } = letter;
    const error = 'HANDLER: no such invoice “1042” 🚢';
    assert.deepEqual(rest, { id, queue, job, body, reason: 'permanent', error, attempt: 2 });
  });

  for (const reason of ['permanent', 'exhausted', 'crash-loop', 'rejected', 'expired'] as const) {
    law(`a message abandoned as ${reason} is a dead letter`, async (t) => {
      const { id } = await die(t, mail, reason);
      const [letter] = await t.admin.deadLetters.list({});
      assert.deepEqual([letter?.id, letter?.reason], [id, reason]);
    });
  }

  for (const [first, second] of [
    ['permanent', 'rejected'],
    ['permanent', null],
    [null, 'permanent'],
  ] as const) {
    law(
      `neighbours that end at the same moment end as ${first ?? 'acked'} and ${second ?? 'acked'}`,
      async (t) => {
        await t.put();
        await t.put();
        const leases = await t.takeMany(2);
        const ends = [first, second].map((reason, i) => ({ reason, lease: leases[i]! }));
        const answers = ends.map(({ reason, lease }) =>
          reason ? t.backend.abandon(lease, { reason, error: `HANDLER: ${reason}` }) : t.ack(lease),
        );
        assert.deepEqual(await Promise.all(answers), [true, true]);
        const letters = await t.admin.deadLetters.list({});
        const found = ends.map(
          ({ lease }) => letters.find(({ body }) => body === lease.body)?.reason ?? null,
        );
        assert.deepEqual(found, [first, second]);
        await t.nothingComes();
      },
    );
  }

  law('a cancelled message is no dead letter', async (t) => {
    await die(t, mail, 'cancelled');
    assert.deepEqual(await t.admin.deadLetters.list({}), []);
    await t.nothingEverComes();
  });

  law('messages that wait, run or are done are no dead letters', async (t) => {
    for (let i = 0; i < 3; i++) await t.put();
    await t.ack(await t.take());
    await t.take();
    assert.deepEqual(await t.admin.deadLetters.list({}), []);
  });

  law('dead letters are listed newest first, by queue, and at most max', async (t) => {
    const first = await die(t, mail);
    await t.advance(second);
    const other = await die(t, reports);
    await t.advance(second);
    const last = await die(t, mail);
    const { deadLetters } = t.admin;
    assert.deepEqual(idsOf(await deadLetters.list({})), idsOf([last, other, first]));
    assert.deepEqual(idsOf(await deadLetters.list({ max: 2 })), idsOf([last, other]));
    assert.deepEqual(idsOf(await deadLetters.list({ queue: mail })), idsOf([last, first]));
    assert.deepEqual(idsOf(await deadLetters.list({ queue: mail, max: 1 })), idsOf([last]));
  });

  law('a retried dead letter runs again at once, as attempt 1, and is no longer listed', async (t) => {
    const { id, body } = await t.put();
    await t.take({ leaseMs: second });
    await t.advance(second);
    await t.reap();
    await t.backend.abandon(await t.take(), { reason: 'exhausted', error: 'HANDLER: no' });
    await t.advance(minute);
    assert.equal(await t.admin.deadLetters.retry([id]), 1);
    assert.deepEqual(await t.admin.deadLetters.list({}), []);
    const lease = await t.take();
    assert.deepEqual([lease.body, lease.attempt, lease.interrupted], [body, 1, false]);
    assert.equal(await t.ack(lease), true);
    await t.nothingEverComes();
  });

  law('a dead letter that is retried and fails again is listed again, once', async (t) => {
    const { id } = await die(t);
    await t.admin.deadLetters.retry([id]);
    await t.backend.abandon(await t.take(), { reason: 'permanent', error: 'HANDLER: still not' });
    const letters = await t.admin.deadLetters.list({});
    assert.deepEqual(
      letters.map(({ reason, attempt }) => [reason, attempt]),
      [['permanent', 1]],
    );
  });

  law('a discarded dead letter is gone', async (t) => {
    const [gone, kept] = [await die(t), await die(t)];
    assert.equal(await t.admin.deadLetters.discard([gone.id]), 1);
    assert.deepEqual(idsOf(await t.admin.deadLetters.list({})), [kept.id]);
    assert.equal(await t.admin.deadLetters.retry([gone.id]), 0);
    await t.nothingEverComes();
  });

  law('retry and discard count what they found, each id once', async (t) => {
    const [first, second, third] = [await die(t), await die(t), await die(t)];
    const { deadLetters } = t.admin;
    assert.equal(await deadLetters.retry([first.id, 'unknown', second.id, first.id]), 2);
    assert.equal(await deadLetters.discard([third.id, 'unknown', third.id, first.id]), 1);
    assert.deepEqual(bodiesOf(await t.takeAll()).sort(), bodiesOf([first, second]).sort());
  });

  law(
    'retry and discard touch nothing that is not a dead letter',
    async (t) => {
      const done = await t.put();
      await t.ack(await t.take());
      const running = await t.put();
      const lease = await t.take();
      const delayed = t.lacks('delays') ? [] : [await t.put({ notBefore: t.now() + minute })];
      const ids = idsOf([done, running, ...delayed]);
      assert.equal(await t.admin.deadLetters.retry(ids), 0);
      assert.equal(await t.admin.deadLetters.discard(ids), 0);
      await t.nothingComes();
      assert.equal(await t.ack(lease), true);
      await t.advance(minute);
      assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf(delayed));
    },
    { takesTime: true },
  );
}
