/** Random sequences of all that can happen to steps, compared with a model that has no storage. */

import assert from 'node:assert/strict';
import { StepLog } from '../../../core/features/steps/log.ts';
import type { RememberedStep } from '../../../core/features/steps/stored.ts';
import { deliver, register } from '../../../core/features/steps/waiters.ts';
import { drawing } from './groups-at-random.ts';
import { type Kit, minute, second } from './kit.ts';
import { allSteps, clockOf, ownerOf, stepsOf } from './store-steps-kit.ts';

interface Job {
  attempt: number;
  /** Whose attempt it is: the last one that was opened. */
  owner: StepLog | null;
  readonly stale: StepLog[];
  readonly steps: Map<string, RememberedStep>;
}

interface Waiter {
  readonly id: string;
  readonly step: string;
  readonly until: number;
}

const ids = ['a', 'b', 'c'];
const events = ['paid', 'shipped'];
/** In no order: open waits stay behind when others go into pieces. */
const byName = (steps: readonly RememberedStep[]) => new Map(steps.map((step) => [step.name, step]));

export async function playSteps(t: Kit, seed: number): Promise<void> {
  const draw = drawing(seed);
  const pick = <T>(items: readonly T[]): T => items[draw(items.length)]!;
  const stores = stepsOf(t);
  const clock = clockOf(t);
  const jobs = new Map<string, Job>(
    ids.map((id) => [id, { attempt: 0, owner: null, stale: [], steps: new Map() }]),
  );
  const waiters = new Map<string, Waiter[]>(events.map((event) => [event, []]));
  const kept = new Map<string, { got: { payload: number; at: number }; until: number }>();
  let count = 0;

  async function open(id: string, job: Job): Promise<void> {
    if (job.owner) job.stale.push(job.owner);
    job.owner = await StepLog.open(pick(stores), clock, ownerOf(t, id, ++job.attempt));
    assert.ok(job.owner);
    assert.deepEqual(byName(job.owner.steps), job.steps, `what attempt ${job.attempt} of ${id} reads`);
  }

  async function put(job: Job): Promise<void> {
    const name = `step-${++count}`;
    // Some fill a piece alone, others together.
    const value = `${count}`.padEnd([1, 700, 70_000][draw(3)]!, 'x');
    const step = { name, at: t.now(), value };
    const late = job.stale.length > 0 && draw(3) === 0;
    const written = await (late ? pick(job.stale) : job.owner!).put(name, () => step);
    assert.deepEqual(written, late ? null : step, `step ${name} of ${late ? 'a stale' : 'the'} owner`);
    if (!late) job.steps.set(name, step);
  }

  async function wait(id: string, job: Job): Promise<void> {
    const [event, name, until] = [pick(events), `wait-${++count}`, t.now() + (1 + draw(90)) * second];
    const step = { name, at: t.now(), until, event, key: null };
    await job.owner!.put(name, () => step);
    job.steps.set(name, step);
    const got = await register(pick(stores), clock, event, null, { id, queue: 'mail', step: name, until });
    const known = kept.get(event);
    const expected = known && known.until > t.now() ? known.got : null;
    assert.deepEqual(got, expected, `what was kept of ${event}`);
    if (!got) return void waiters.get(event)!.push({ id, step: name, until });
    const done = { ...step, got };
    assert.deepEqual(await job.owner!.put(name, () => done), done);
    job.steps.set(name, done);
  }

  async function emit(): Promise<void> {
    const event = pick(events);
    const keepMs = draw(3) === 0 ? 30 * second : 0;
    const got = { payload: ++count, at: t.now() };
    const { reached } = await deliver(pick(stores), clock, { event, key: null, got, keepMs });
    const expected = new Set<string>();
    for (const { id, until } of waiters.get(event)!) {
      if (until <= t.now()) continue;
      const { steps } = jobs.get(id)!;
      for (const [name, step] of steps) {
        const isOpen = 'event' in step && step.event === event && !step.got && step.until > t.now();
        if (!isOpen) continue;
        steps.set(name, { ...step, got });
        expected.add(id);
      }
    }
    waiters.set(event, []);
    if (keepMs > 0) kept.set(event, { got, until: t.now() + keepMs });
    assert.deepEqual(new Set(reached.map(({ id }) => id)), expected, `who got ${event}`);
  }

  async function forget(job: Job): Promise<void> {
    await job.owner!.forget();
    job.stale.push(job.owner!);
    job.owner = null;
    job.steps.clear();
  }

  for (let n = 0; n < 60; n++) {
    const id = pick(ids);
    const job = jobs.get(id)!;
    const what = draw(12);
    if (what < 2 || !job.owner) await open(id, job);
    else if (what < 5) await put(job);
    else if (what < 7) await wait(id, job);
    else if (what < 9) await emit();
    else if (what < 11) await t.advance(draw(2) === 0 ? second : minute / 2);
    else await forget(job);
    const stored = byName(await allSteps(pick(stores), id));
    assert.deepEqual(stored, job.steps, `the steps of ${id} (seed ${seed}, move ${n})`);
  }
}
