import assert from 'node:assert/strict';
import type { HandlerContext } from '../../../core/kernel/app/job.ts';
import { type EntrypointLaw, takesTime } from './entrypoint-kit.ts';
import { hour, mail, minute, second } from './kit.ts';

/** Ends when its signal aborts, as a good handler does. */
const untilAborted = ({ signal }: HandlerContext) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

export function entrypointTimeLaws(law: EntrypointLaw): void {
  law(
    'a job over its rate comes at its time, and has spent no attempt',
    async (t) => {
      for (const name of ['a', 'b']) await t.enqueue(name, { job: t.rated });
      await t.deliverAll();
      assert.equal(t.ran.length, 1);
      await t.advance(10 * minute + 2 * second);
      await t.deliverAll();
      assert.deepEqual(
        t.ran.map(({ ctx }) => ctx.attempt),
        [1, 1],
      );
      await t.nothingEverComes();
    },
    takesTime,
  );

  law(
    'a job that runs towards the end of its call is aborted in time, and its attempt has failed',
    async (t) => {
      await t.enqueue('slow');
      await t.enqueue('quick');
      t.behaviour.set('slow', untilAborted);
      const call = t.bench.deliver(mail, 15 * second);
      await t.begun(2);
      await t.advance(14 * second);
      const { taken, done, thrown } = await call;
      assert.deepEqual([taken, done, thrown], [2, 1, null]);
      const slow = t.ran.find(({ name }) => name === 'slow');
      assert.equal(slow?.ctx.signal.aborted, true);
      t.behaviour.delete('slow');
      await t.advance(minute + second);
      assert.deepEqual(await t.deliver(), { taken: 1, done: 1 });
      assert.equal(t.ran.at(-1)?.ctx.attempt, 2);
    },
    takesTime,
  );

  law('a handler that ignores its signal does not keep the call from ending in time', async (t) => {
    await t.enqueue('deaf');
    t.behaviour.set('deaf', () => new Promise(() => {}));
    const call = t.bench.deliver(mail, 15 * second);
    await t.begun(1);
    await t.advance(14 * second);
    assert.deepEqual(await call, { taken: 1, done: 0, thrown: null });
  });

  law(
    'a job that cannot end in time does not begin, and spends no attempt',
    async (t) => {
      for (const name of ['first', 'second', 'third']) await t.enqueue(name);
      for (const name of ['first', 'second', 'third']) t.behaviour.set(name, () => t.advance(19 * second));
      assert.equal((await t.deliver(mail, 35 * second)).taken, 3);
      const began = t.callsAreSingle ? 3 : 1;
      assert.equal(
        t.ran.length,
        began,
        'in one call the second may need 20 seconds, and 16 at most are left',
      );
      for (const name of ['first', 'second', 'third']) t.behaviour.delete(name);
      await t.advance(t.visibilityMs);
      await t.deliverAll();
      assert.deepEqual(
        t.ran.map(({ ctx }) => ctx.attempt),
        [1, 1, 1],
      );
      assert.equal(new Set(t.ran.map(({ name }) => name)).size, 3);
    },
    { ...takesTime, concurrency: 1 },
  );

  law(
    'a job whose call ends between two steps goes on in another one, and has spent no attempt',
    async (t) => {
      const done: string[] = [];
      await t.enqueue('steps');
      t.behaviour.set('steps', async (ctx) => {
        await ctx.step('first', () => done.push('first'));
        await ctx.step('second', () => {
          done.push('second');
          return done.length === 2 ? untilAborted(ctx) : null;
        });
      });
      const call = t.bench.deliver(mail, 15 * second);
      while (done.length < 2) await new Promise(setImmediate);
      await t.advance(14 * second);
      assert.equal((await call).thrown, null);
      await t.advance(t.visibilityMs);
      await t.deliverAll();
      assert.deepEqual(done, ['first', 'second', 'second']);
      assert.deepEqual(
        t.ran.map(({ ctx }) => ctx.attempt),
        [1, 1],
      );
      await t.nothingEverComes();
    },
    takesTime,
  );

  law(
    'a job sleeps for hours and waits for an event without a call that runs meanwhile',
    async (t) => {
      const done: unknown[] = [];
      await t.enqueue('sleeps');
      t.behaviour.set('sleeps', async (ctx) => {
        await ctx.step('first', () => done.push('first'));
        await ctx.sleep('2h');
        await ctx.step('second', () => done.push('second'));
        done.push((await ctx.waitFor('go', { timeoutMs: '1h' }))?.payload);
      });
      await t.deliverAll();
      assert.deepEqual(done, ['first']);
      for (let passed = 0; passed <= 2 * hour; passed += 5 * minute) {
        await t.advance(5 * minute);
        await t.deliverAll();
      }
      assert.deepEqual(done, ['first', 'second']);
      assert.equal(await t.bench.client.emit('go', { now: true }), 1);
      await t.advance(2 * minute);
      await t.deliverAll();
      assert.deepEqual(done, ['first', 'second', { now: true }]);
      assert.ok(t.ran.every(({ ctx }) => ctx.attempt === 1));
      await t.nothingEverComes();
    },
    takesTime,
  );

  law(
    'a delayed job runs when it is due, not before',
    async (t) => {
      await t.enqueue('later', { delayMs: 10 * minute });
      for (let passed = 0; passed < 9; passed++) {
        await t.deliverAll();
        await t.advance(minute);
      }
      assert.equal(t.ran.length, 0);
      await t.advance(minute + second);
      await t.deliverAll();
      assert.equal(t.ran.length, 1);
    },
    takesTime,
  );

  law(
    'a delay that is longer than the platform can keep spends no attempt, and has one end',
    async (t) => {
      const id = await t.enqueue('later', { delayMs: 3 * hour });
      for (let passed = 0; passed < 3 * hour - minute; passed += 5 * minute) {
        await t.deliverAll();
        assert.equal(t.ran.length, 0);
        await t.advance(5 * minute);
      }
      await t.advance(2 * minute);
      await t.deliverAll();
      assert.deepEqual(
        t.ran.map(({ ctx }) => [ctx.id, ctx.attempt]),
        [[id, 1]],
      );
      await t.nothingEverComes();
      assert.equal(t.ran.length, 1);
    },
    takesTime,
  );
}
