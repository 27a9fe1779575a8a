import assert from 'node:assert/strict';
import { type EntrypointLaw, fail, permanent, snooze, takesTime } from './entrypoint-kit.ts';
import { mail, minute, second } from './kit.ts';

export function entrypointFailureLaws(law: EntrypointLaw): void {
  law('a job that succeeds is done, and never returns', async (t) => {
    await t.enqueue('a');
    assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
    assert.deepEqual(
      t.ran.map(({ name, ctx }) => [name, ctx.attempt]),
      [['a', 1]],
    );
    await t.nothingEverComes();
    assert.equal(t.ran.length, 1);
  });

  law(
    'a job that throws is not done, and returns after the delay of its policy as the next attempt',
    async (t) => {
      await t.enqueue('a');
      t.behaviour.set('a', fail);
      assert.deepEqual(await t.deliver(), { taken: 1, done: 0 });
      await t.advance(minute - 2 * second);
      assert.equal((await t.deliver()).taken, 0);
      await t.advance(3 * second);
      t.behaviour.delete('a');
      assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
      assert.deepEqual(
        t.ran.map(({ ctx }) => ctx.attempt),
        [1, 2],
      );
    },
    takesTime,
  );

  law('a job that fails for good is a dead letter at once, with its reason', async (t) => {
    const id = await t.enqueue('a');
    t.behaviour.set('a', permanent);
    assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
    const [letter, ...others] = await t.bench.deadLetters();
    assert.deepEqual(others, []);
    assert.deepEqual(
      [letter?.id, letter?.job, letter?.reason, letter?.error, letter?.attempt],
      [id, 'law.job', 'permanent', 'HANDLER: no such invoice', 1],
    );
    await t.nothingEverComes();
  });

  law(
    'a job that fails as often as it may is a dead letter',
    async (t) => {
      await t.enqueue('a');
      t.behaviour.set('a', fail);
      for (let round = 0; round < 3; round++) {
        assert.equal((await t.deliver()).taken, 1);
        await t.advance(minute + second);
      }
      assert.deepEqual(
        (await t.bench.deadLetters()).map(({ reason, attempt }) => [reason, attempt]),
        [['exhausted', 3]],
      );
      await t.nothingEverComes();
    },
    takesTime,
  );

  law(
    'a job that snoozes returns after its delay as the same attempt, and nobody hears of a failure',
    async (t) => {
      await t.enqueue('a');
      t.behaviour.set('a', snooze);
      for (let round = 0; round < 3; round++) {
        assert.equal((await t.deliver()).taken, 1);
        await t.advance(2 * minute - 2 * second);
        assert.equal((await t.deliver()).taken, 0);
        await t.advance(3 * second);
      }
      t.behaviour.delete('a');
      assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
      assert.deepEqual(
        t.ran.map(({ ctx }) => ctx.attempt),
        [1, 1, 1, 1],
      );
      assert.deepEqual([t.hooked, await t.bench.deadLetters()], [[], []]);
      await t.nothingEverComes();
    },
    takesTime,
  );

  law(
    'where numbers are kept, they are written with the calls',
    async (t) => {
      const { client } = t.bench;
      if (!client.stores.metrics) return;
      await t.enqueue('a');
      await t.deliver();
      await t.advance(11 * second);
      t.behaviour.set('b', fail);
      await t.enqueue('b');
      await t.deliver();
      const { all, jobs } = await client.metrics();
      assert.deepEqual([all.done, all.retried, all.waitMs !== null], [1, 1, true]);
      assert.deepEqual(
        jobs.map(({ job, queue }) => [job, queue]),
        [['law.job', mail]],
      );
    },
    takesTime,
  );

  law('an end that the store beside its queue refused is recorded with a later call', async (t) => {
    const { writer } = t.bench.client.stores.records;
    if (!writer) return;
    const { settled } = writer;
    const id = await t.enqueue('a');
    Object.assign(writer, { settled: () => Promise.reject(new Error('the table is away')) });
    assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
    assert.equal((await t.bench.client.status(id))?.status, 'processing');
    Object.assign(writer, { settled });
    await t.enqueue('b');
    await t.deliver();
    const record = await t.bench.client.status(id);
    assert.deepEqual([record?.status, record?.attempts.length], ['completed', 1]);
  });

  law('the app hears of a failure before the call has ended, and waits for what it does then', async (t) => {
    const failing = await t.enqueue('a');
    t.behaviour.set('a', fail);
    await t.deliver();
    assert.deepEqual(t.hooked, [`onError ${failing} requeued: the mail server is down`]);
    const dead = await t.enqueue('b');
    t.behaviour.set('b', permanent);
    await t.deliver();
    assert.deepEqual(t.hooked.slice(1), [
      `onError ${dead} dead-lettered: no such invoice`,
      `onDeadLetter ${dead} dead-lettered: no such invoice`,
    ]);
  });

  law(
    'in a batch each message has its own end',
    async (t) => {
      for (const name of ['good', 'failing', 'dead', 'fine']) await t.enqueue(name);
      t.behaviour.set('failing', fail);
      t.behaviour.set('dead', permanent);
      await t.bench.write(mail, 'neither signed nor JSON');
      await t.deliverAll();
      assert.deepEqual(t.ran.map(({ name }) => name).sort(), ['dead', 'failing', 'fine', 'good']);
      assert.deepEqual((await t.bench.deadLetters()).map(({ reason }) => reason).sort(), [
        'permanent',
        'rejected',
      ]);
      await t.advance(minute + second);
      t.behaviour.delete('failing');
      assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
      await t.nothingEverComes();
    },
    takesTime,
  );

  law(
    'a job whose settling fails is not done, and returns',
    async (t) => {
      await t.enqueue('a');
      t.behaviour.set('a', permanent);
      const repair = await t.bench.breakDeadLetters();
      assert.deepEqual(await t.deliver(), { taken: 1, done: 0 });
      assert.deepEqual(
        t.events
          .filter(({ type }) => type === 'backend.failed')
          .map((event) => 'during' in event && event.during),
        ['settling'],
      );
      await repair();
      await t.advance(t.visibilityMs);
      assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
      const [letter, ...others] = await t.bench.deadLetters();
      assert.deepEqual([letter?.reason, others], ['permanent', []]);
      // A call that was refused before its job began may count as an attempt, or not.
      assert.ok([2, t.ran.length].includes(letter!.attempt), `It was attempt ${letter!.attempt}.`);
    },
    takesTime,
  );

  law(
    'a call that comes to nothing leaves its messages to return',
    async (t) => {
      await t.enqueue('a');
      await t.bench.lose(mail);
      await t.advance(t.visibilityMs);
      assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
      assert.deepEqual(
        t.ran.map(({ ctx }) => ctx.attempt),
        [2],
      );
    },
    takesTime,
  );

  law(
    'a job that always takes its process down is a dead letter in the end',
    async (t) => {
      await t.enqueue('a');
      for (let round = 0; round < 3; round++) {
        await t.bench.lose(mail);
        await t.advance(t.visibilityMs);
      }
      assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
      assert.equal(t.ran.length, 0, 'the fourth attempt must not begin');
      assert.deepEqual(
        (await t.bench.deadLetters()).map(({ reason }) => reason),
        ['crash-loop'],
      );
    },
    takesTime,
  );

  law('calls that overlap do not disturb one another', async (t) => {
    for (let i = 0; i < 20; i++) await t.enqueue(`job-${i}`);
    t.behaviour.set('job-3', permanent);
    const calls = await Promise.all([t.deliver(), t.deliver(), t.deliver()]);
    assert.ok(calls.every(({ taken, done }) => taken === done));
    await t.deliverAll();
    assert.equal(new Set(t.ran.map(({ name }) => name)).size, 20);
    assert.equal(t.ran.length, 20);
    assert.equal((await t.bench.deadLetters()).length, 1);
  });
}
