/** Laws of jobs that are stopped, where a platform calls with messages: it must report them as jobs that come again. */

import assert from 'node:assert/strict';
import { pauseJob, resumeJob } from '../../../core/features/limits/pause.ts';
import { type EntrypointKit, type EntrypointLaw, permanent, takesTime } from './entrypoint-kit.ts';
import { minute, second } from './kit.ts';

const openMs = 10 * minute;

async function opened(t: EntrypointKit): Promise<void> {
  for (const name of ['first', 'second']) {
    t.behaviour.set(name, permanent);
    await t.enqueue(name, { job: t.fragile });
    await t.deliverAll();
  }
  assert.equal(t.events.filter(({ type }) => type === 'breaker.opened').length, 1);
}

export function entrypointStoppingLaws(law: EntrypointLaw): void {
  law(
    'a job whose breaker is open comes when it may be tried, and has spent no attempt',
    async (t) => {
      await opened(t);
      for (const name of ['a', 'b']) await t.enqueue(name, { job: t.fragile });
      await t.enqueue('other');
      for (let passed = 0; passed < openMs - minute; passed += 3 * minute) {
        await t.deliverAll();
        await t.advance(3 * minute);
      }
      assert.deepEqual(
        t.ran.map(({ name }) => name),
        ['first', 'second', 'other'],
      );
      for (let n = 0; n < 3; n++) {
        await t.advance(openMs);
        await t.deliverAll();
      }
      assert.deepEqual(
        t.ran
          .slice(3)
          .map(({ name, ctx }) => [name, ctx.attempt])
          .toSorted(),
        [
          ['a', 1],
          ['b', 1],
        ],
      );
      assert.equal(t.events.filter(({ type }) => type === 'breaker.closed').length, 1);
      await t.nothingEverComes();
    },
    takesTime,
  );

  law(
    'of the jobs of one call one is tried when the breaker may close',
    async (t) => {
      await opened(t);
      await t.advance(openMs);
      let finish: () => void = () => {};
      for (const name of ['a', 'b', 'c'])
        t.behaviour.set(name, () => new Promise<void>((resolve) => (finish = resolve)));
      for (const name of ['a', 'b', 'c']) await t.enqueue(name, { job: t.fragile });
      const call = t.deliver();
      await t.begun(3);
      for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate);
      assert.equal(t.ran.length, 3);
      for (const name of ['a', 'b', 'c']) t.behaviour.delete(name);
      finish();
      await call;
      await t.advance(openMs);
      await t.deliverAll();
      assert.deepEqual(
        t.ran
          .slice(2)
          .map(({ name }) => name)
          .toSorted(),
        ['a', 'b', 'c'],
      );
    },
    takesTime,
  );

  law(
    'a job that is paused comes when it was resumed, and has spent no attempt',
    async (t) => {
      const { client } = t.bench;
      await pauseJob(client, 'law.job');
      await t.enqueue('a');
      await t.enqueue('b', { job: t.once });
      for (let n = 0; n < 5; n++) {
        await t.deliverAll();
        await t.advance(5 * second + minute);
      }
      assert.deepEqual(
        t.ran.map(({ name }) => name),
        ['b'],
      );
      await resumeJob(client, 'law.job');
      for (let n = 0; n < 2; n++) {
        await t.advance(5 * second + minute);
        await t.deliverAll();
      }
      assert.deepEqual(
        t.ran.map(({ name, ctx }) => [name, ctx.attempt]),
        [
          ['b', 1],
          ['a', 1],
        ],
      );
      await t.nothingEverComes();
    },
    takesTime,
  );
}
