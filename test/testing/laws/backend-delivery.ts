import assert from 'node:assert/strict';
import { bodiesOf, mail, minute, reports, second } from './kit.ts';
import type { Law } from './law.ts';

const awkwardBodies: readonly string[] = [
  '{}',
  '{"text":"naïve — 日本語 — שלום"}',
  '{"astral":"🚢\u{1F9EA}\u{10FFFF}"}',
  '{"escapes":"\\u0000\\n\\t\\"\\\\ \\ud83d"}',
  '{"separators":"\u2028\u2029\u0085\uFEFF"}',
  '{ "spaces" : 1.0,\r\n\t"order":[2,1], "order":1e3 }',
  `{"quotes":"' '' \` $1 :name ? %s \\\\x"}`,
  `{"long":"${'0123456789abcdef'.repeat(8_000)}"}`,
  `{"wide":"${'é'.repeat(50_000)}"}`,
];

export function deliveryLaws(law: Law): void {
  law('exactly the same characters come back', async (t) => {
    for (const body of awkwardBodies) {
      await t.put({ body });
      const lease = await t.take();
      assert.equal(lease.body, body);
      assert.equal(await t.ack(lease), true);
    }
  });

  law('the first attempt is number 1 and follows no interruption', async (t) => {
    await t.put();
    const lease = await t.take();
    assert.equal(lease.attempt, 1);
    assert.equal(lease.interrupted, false);
  });

  law('a lease names the queue it came from and ends after leaseMs', async (t) => {
    await t.put({ queue: reports });
    const earliest = t.now() + minute;
    const lease = await t.take({ queues: [mail, reports], leaseMs: minute });
    assert.equal(lease.queue, reports);
    assert.ok(lease.expiresAt >= earliest && lease.expiresAt <= t.now() + minute);
  });

  law('every claim has a fresh token', async (t) => {
    for (let i = 0; i < 5; i++) await t.put();
    const tokens: string[] = [];
    for (let round = 0; tokens.length < 20; round++) {
      const leases = await t.takeAll(); // fewer than there are is normal
      assert.ok(leases.length > 0, 'expected messages to be given out, got none');
      tokens.push(...leases.map((lease) => lease.token));
      for (const lease of leases) await t.backend.nack(lease, { delayMs: 0, countAttempt: round % 2 === 0 });
    }
    assert.equal(new Set(tokens).size, tokens.length);
  });

  law(
    'a delayed message stays hidden until it is due, then comes',
    async (t) => {
      await t.put({ notBefore: t.now() + 3 * second });
      await t.nothingComes();
      await t.advance(2 * second);
      await t.nothingComes();
      await t.advance(second);
      assert.equal((await t.take()).attempt, 1);
    },
    { needs: 'delays' },
  );

  law('a queue without delays refuses one with LIMIT while its neighbours are stored', async (t) => {
    if (!t.lacks('delays')) return;
    const [before, after] = [t.message(), t.message()];
    const results = await t.backend.enqueue([before, t.message({ notBefore: t.now() + minute }), after]);
    assert.deepEqual(
      results.map((result) => (result.ok ? 'stored' : result.error.code)),
      ['stored', 'LIMIT', 'stored'],
    );
    assert.deepEqual(bodiesOf(await t.takeAll()).sort(), bodiesOf([before, after]).sort());
  });

  law('a message that was due in the past comes at once', async (t) => {
    const { body } = await t.put({ notBefore: t.now() - minute });
    assert.equal((await t.take()).body, body);
  });

  law('a message that is leased is given to nobody else', async (t) => {
    await t.put();
    await t.take();
    for (const opening of t.openings) {
      const request = { queues: [mail], max: 10, leaseMs: minute, waitMs: 0 };
      assert.deepEqual(await opening.fetch(request), []);
    }
  });

  law('one message goes to exactly one of many concurrent fetches', async (t) => {
    const { body } = await t.put();
    const request = { queues: [mail], max: 10, leaseMs: minute, waitMs: 0 };
    const fetches = Array.from({ length: 24 }, (_, i) => t.openings[i % t.openings.length]!.fetch(request));
    assert.deepEqual(bodiesOf((await Promise.all(fetches)).flat()), [body]);
  });

  law('many messages are shared out among concurrent fetches, each exactly once', async (t) => {
    const messages = Array.from({ length: 100 }, () => t.message());
    await t.backend.enqueue(messages);
    const given: string[] = [];
    for (let round = 0; round < 100 && given.length < messages.length; round++) {
      const request = { queues: [mail], max: 3, leaseMs: minute, waitMs: 0 };
      const fetches = Array.from({ length: 8 }, (_, i) => t.openings[i % t.openings.length]!.fetch(request));
      given.push(...bodiesOf((await Promise.all(fetches)).flat()));
    }
    assert.deepEqual(given.sort(), bodiesOf(messages).sort());
  });

  law('a fetch takes at most max', async (t) => {
    for (let i = 0; i < 5; i++) await t.put();
    const first = await t.takeAll(2);
    const rest = await t.takeAll(10);
    assert.ok(first.length >= 1 && first.length <= 2);
    assert.equal(first.length + rest.length, 5);
  });

  law('a fetch takes from the queues it names and from no other', async (t) => {
    const letter = await t.put({ queue: mail });
    const report = await t.put({ queue: reports });
    assert.deepEqual(bodiesOf(await t.takeAll(10, { queues: [reports] })), [report.body]);
    assert.deepEqual(bodiesOf(await t.takeAll(10, { queues: [mail] })), [letter.body]);
  });

  law('a queue that nobody used is empty', async (t) => {
    assert.deepEqual(await t.takeAll(), []);
    assert.equal(await t.backend.reapExpired(mail), 0);
  });

  law('enqueue answers per message, in the order of the messages', async (t) => {
    const messages = Array.from({ length: 25 }, () => t.message());
    const results = await t.backend.enqueue(messages);
    assert.deepEqual(
      results,
      messages.map(({ id }) => ({ ok: true, id, duplicate: false })),
    );
    assert.deepEqual(bodiesOf(await t.takeAll()).sort(), bodiesOf(messages).sort());
  });

  law('a large batch is stored and answered whole', async (t) => {
    const messages = Array.from({ length: 2_500 }, () => t.message());
    const results = await t.backend.enqueue(messages);
    assert.deepEqual(
      results.map(({ id }) => id),
      messages.map(({ id }) => id),
    );
    assert.ok(results.every((result) => result.ok && !result.duplicate));
    const given: string[] = [];
    for (let leases = await t.takeAll(); leases.length > 0; leases = await t.takeAll()) {
      given.push(...bodiesOf(leases));
      assert.ok((await t.backend.ack(leases.map((lease) => ({ lease })))).every(Boolean));
    }
    assert.deepEqual(given.sort(), bodiesOf(messages).sort());
  });

  law('an empty batch is answered with an empty list', async (t) => {
    assert.deepEqual(await t.backend.enqueue([]), []);
    assert.deepEqual(await t.backend.ack([]), []);
    assert.deepEqual(await t.backend.renew([], minute), []);
  });

  law('a body over the limit is refused with LIMIT while its neighbours are stored', async (t) => {
    const { maxBodyBytes } = t.backend.limits;
    const [before, after] = [t.message(), t.message()];
    const tooLong = t.message({ body: 'x'.repeat(maxBodyBytes + 1) });
    const results = await t.backend.enqueue([before, tooLong, after]);
    assert.deepEqual(
      results.map(({ ok, id }) => ({ ok, id })),
      [before, tooLong, after].map(({ id }) => ({ ok: id !== tooLong.id, id })),
    );
    const refused = results[1]!;
    assert.equal(refused.ok ? null : refused.error.code, 'LIMIT');
    assert.deepEqual(bodiesOf(await t.takeAll()).sort(), bodiesOf([before, after]).sort());
  });

  law('the limit counts bytes, not characters, and a body that just fits is stored', async (t) => {
    const { maxBodyBytes } = t.backend.limits;
    const fits = `${'é'.repeat(Math.floor(maxBodyBytes / 2))}${'x'.repeat(maxBodyBytes % 2)}`;
    const results = await t.backend.enqueue([t.message({ body: `${fits}x` }), t.message({ body: fits })]);
    assert.deepEqual(
      results.map(({ ok }) => ok),
      [false, true],
    );
    assert.equal((await t.take()).body, fits);
  });
}
