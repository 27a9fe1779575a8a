/** A job with steps whose store loses answers: calls that took effect and were not answered, and calls that never came. */

import assert from 'node:assert/strict';
import type { StepStore } from '../../../core/contract/derived/steps.ts';
import { StepLog } from '../../../core/features/steps/log.ts';
import type { RememberedStep } from '../../../core/features/steps/stored.ts';
import { deliver, register } from '../../../core/features/steps/waiters.ts';
import { drawing } from './groups-at-random.ts';
import { hour, type Kit, minute } from './kit.ts';
import { allSteps, clockOf, ownerOf, stepsOf } from './store-steps-kit.ts';

class LostAnswer extends Error {
  readonly wrote: boolean;
  constructor(wrote: boolean) {
    super('no answer');
    this.wrote = wrote;
  }
}

/** One of four calls fails, half of them after they took effect. */
function losing(store: StepStore, draw: (below: number) => number): StepStore {
  const maybe = async <T>(isWrite: boolean, call: () => Promise<T>): Promise<T> => {
    const fate = draw(8);
    if (fate === 0) throw new LostAnswer(false);
    const answer = await call();
    if (fate === 1) throw new LostAnswer(isWrite && answer !== null);
    return answer;
  };
  return {
    read: (name) => maybe(false, () => store.read(name)),
    // A piece alone is no step that was remembered.
    write: (name, ...given) => maybe(name.startsWith('job:'), () => store.write(name, ...given)),
    remove: (...given) => maybe(false, () => store.remove(...given)),
  };
}

/** Each of the last ones fills a piece. */
const large = 'x'.repeat(70_000);
const names = ['one', 'two', 'three', 'large 1', 'large 2', 'large 3', 'four'];

/** Attempts go on until one has done all: each fails with the first answer that is lost. */
export async function playLostAnswers(t: Kit, seed: number): Promise<void> {
  const draw = drawing(seed);
  const whole = stepsOf(t);
  const stores = whole.map((store) => losing(store, draw));
  const pick = (): StepStore => stores[draw(stores.length)]!;
  const clock = clockOf(t);
  let runs = 0;
  let attempts = 0;
  /** The results that later attempts must find, and those that they must not. */
  const remembered = new Map<string, unknown>();

  async function again<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 0; tries < 100; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof LostAnswer)) throw error;
      }
    }
    return assert.fail('expected one of 100 calls to be answered');
  }

  async function put(log: StepLog, step: RememberedStep & { readonly value?: unknown }): Promise<void> {
    try {
      assert.notEqual(await log.put(step.name, () => step), null, 'an owner that nobody has followed');
      remembered.set(step.name, step.value);
    } catch (error) {
      if (error instanceof LostAnswer && error.wrote) remembered.set(step.name, step.value);
      throw error;
    }
  }

  async function attempt(): Promise<unknown> {
    const log = await again(() => StepLog.open(pick(), clock, ownerOf(t, 'a', attempts)));
    assert.ok(log, 'the latest attempt was not let in');
    const found = new Map(log.steps.map((step) => [step.name, 'value' in step ? step.value : undefined]));
    assert.deepEqual(found, remembered, `what attempt ${attempts} finds (seed ${seed})`);
    for (const name of names)
      if (!log.find(name))
        await put(log, { name, at: t.now(), value: `${++runs}${name.startsWith('large') ? large : ''}` });
    const wait = log.find('wait') ?? {
      name: 'wait',
      at: t.now(),
      until: t.now() + hour,
      event: 'go',
      key: null,
    };
    if (!log.find('wait')) await put(log, wait);
    if ('got' in wait) return wait.got!.payload;
    const until = 'until' in wait ? wait.until : 0;
    await register(pick(), clock, 'go', null, { id: 'a', queue: 'mail', step: 'wait', until });
    const got = { payload: 'here', at: t.now() };
    await again(() => deliver(pick(), clock, { event: 'go', key: null, got, keepMs: 0 }).then(answered));
    const [, ...rest] = JSON.stringify(await allSteps(whole[0]!, 'a')).split('"here"');
    assert.equal(rest.length, 1, 'the event has come once');
    throw new LostAnswer(false); // and the job goes on in another attempt
  }

  for (attempts = 1; attempts <= 200; attempts++) {
    try {
      assert.equal(await attempt(), 'here');
      const log = await again(() => StepLog.open(pick(), clock, ownerOf(t, 'a', attempts)));
      await again(() => log!.forget());
      assert.equal(await whole[0]!.read('job:a'), null);
      return;
    } catch (error) {
      if (!(error instanceof LostAnswer)) throw error;
    }
    await t.advance(minute / 60);
  }
  assert.fail('expected one of 200 attempts to do it all');
}

/** A call that has failed for one job is made again. */
function answered<T extends { readonly failures: readonly unknown[] }>(delivered: T): T {
  if (delivered.failures.length > 0) throw delivered.failures[0];
  return delivered;
}
