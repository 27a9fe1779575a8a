import assert from 'node:assert/strict';
import { type EntrypointKit, type EntrypointLaw, takesTime } from './entrypoint-kit.ts';
import { mail, reports, second } from './kit.ts';

/** The signed text of a job that waits in 'mail'; it never runs. */
async function signedText(t: EntrypointKit): Promise<string> {
  await t.enqueue('template');
  const [lease] = await t.bench.client.backend.fetch({
    queues: [mail],
    max: 1,
    leaseMs: 30 * second,
    waitMs: 0,
  });
  assert.ok(lease);
  await t.bench.client.backend.ack([{ lease }]);
  return lease.body;
}

async function isRejected(t: EntrypointKit, body: string, error: RegExp): Promise<void> {
  assert.equal(t.ran.length, 0);
  const [letter, ...others] = await t.bench.deadLetters();
  assert.deepEqual(others, []);
  assert.deepEqual([letter?.reason, letter?.body], ['rejected', body]);
  assert.match(letter!.error, error);
  await t.nothingEverComes();
}

export function entrypointSafetyLaws(law: EntrypointLaw): void {
  law('a message that was changed on its way is a dead letter and does not run', async (t) => {
    const forged = (await signedText(t)).replace('template', 'forgery!');
    await t.bench.write(mail, forged);
    assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
    await isRejected(t, forged, /^SIGNATURE: /);
  });

  law('a message that was cut off on its way is a dead letter and does not run', async (t) => {
    const cut = (await signedText(t)).slice(0, -1);
    await t.bench.write(mail, cut);
    assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
    await isRejected(t, cut, /^SIGNATURE: /);
  });

  law('a text of somebody else is a dead letter and does not run', async (t) => {
    const foreign = '{"Records":[{"eventSource":"aws:s3"}]}';
    await t.bench.write(mail, foreign);
    assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
    await isRejected(t, foreign, /^SIGNATURE: /);
  });

  law('a valid message that was copied to another queue is a dead letter and does not run', async (t) => {
    const copied = await signedText(t);
    await t.bench.write(reports, copied);
    assert.deepEqual(await t.deliver(reports), { taken: 1, done: 1 });
    await isRejected(t, copied, /^WRONG_QUEUE: /);
  });

  law('a valid message without anything beside its text runs', async (t) => {
    await t.bench.write(mail, await signedText(t));
    assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
    assert.deepEqual(
      t.ran.map(({ name, ctx }) => [name, ctx.attempt]),
      [['template', 1]],
    );
  });

  law('a duplicate of what is done is done without running', async (t) => {
    await t.enqueue('a', { job: t.once });
    await t.deliverAll();
    await t.enqueue('a', { job: t.once });
    await t.deliverAll();
    assert.equal(t.ran.length, 1);
    assert.deepEqual(
      t.events
        .filter(({ type }) => type === 'job.settled')
        .map((event) => 'outcome' in event && event.outcome),
      ['acked', 'skipped-idempotent'],
    );
    await t.nothingEverComes();
  });

  law(
    'a duplicate of what runs waits, and spends no attempt',
    async (t) => {
      let finish: () => void = () => {};
      t.behaviour.set('a', () => new Promise<void>((resolve) => (finish = resolve)));
      await t.enqueue('a', { job: t.once });
      const first = t.deliver();
      await t.begun(1);
      await t.enqueue('a', { job: t.once });
      await t.deliver();
      assert.equal(t.ran.length, 1);
      finish();
      assert.deepEqual(await first, { taken: 1, done: 1 });
      await t.advance(6 * second);
      await t.deliverAll();
      assert.equal(t.ran.length, 1);
      const settled = t.events.filter((event) => event.type === 'job.settled');
      assert.deepEqual(
        settled.map(({ outcome, attempt }) => [outcome, attempt]),
        [
          ['requeued', 1],
          ['acked', 1],
          ['skipped-idempotent', 1],
        ],
      );
    },
    takesTime,
  );

  for (const event of [undefined, null, {}, 'text', { Records: [{ eventSource: 'aws:s3' }] }, []]) {
    law(`what is no event of its queue is refused with CONFIG: ${JSON.stringify(event)}`, async (t) => {
      await assert.rejects(t.bench.call(event), { code: 'CONFIG' });
      assert.equal(t.ran.length, 0);
    });
  }
}
