/** Steps move with their jobs, also when the move dies at any of its calls and is begun again. */

import { describe, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { type RememberedStep, StepLog, stepsIn } from '../../../core/steps/log.ts';
import { copySteps, leaveSteps } from '../../../core/steps/moved.ts';
import { deliver, register } from '../../../core/steps/waiters.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { type Moved, move } from '../../../local/move/move.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';
import { type Fate, mortal } from './mortal.ts';

const hour = 3_600_000;
const queue = 'mail';

const message = (id: string, notBefore: number | null) => ({
  ...{ id, queue, notBefore, job: 'story', priority: 5, group: null, tenantId: null },
  body: JSON.stringify({ identifier: id, job: 'story', queue, priority: 5 }),
});

/** A job that waits for an event, a dead letter with a step, and a job that has none. */
async function fill(backend: QueueBackend, clock: VirtualClock) {
  const steps = backend.stores!.steps!;
  const open = async (id: string): Promise<StepLog> => {
    const who = { id, owner: `digest of ${id}`, attempt: 1, leaseUntil: clock.now() + 60_000 };
    const log = (await StepLog.open(steps, clock, who))!;
    await log.put('one', () => ({ name: 'one', at: clock.now(), value: id }));
    return log;
  };
  await backend.enqueue([message('dead', null)]);
  await open('dead');
  const [lease] = await backend.fetch({ queues: [queue], max: 1, leaseMs: hour, waitMs: 0 });
  await backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no' });
  await backend.enqueue([message('waits', clock.now() + hour), message('plain', null)]);
  const late = await open('waits');
  const until = clock.now() + 2 * hour;
  const wait = { name: 'wait', at: clock.now(), until, event: 'go', key: null };
  await late.put('wait', () => wait);
  await register(steps, clock, 'go', null, { id: 'waits', queue, step: 'wait', until });
  return late;
}

const never = new AbortController().signal;
const run = (from: QueueBackend, to: QueueBackend, clock: VirtualClock): Promise<Moved> =>
  move({ from, to, queues: [queue], clock, signal: never, onMoved() {}, onWaiting() {} });

const namesAt = async ({ stores }: QueueBackend, id: string): Promise<string[] | null> => {
  const found = await stores!.steps!.read(`job:${id}`);
  return found && stepsIn(found.text).map(({ name }: RememberedStep) => name);
};
const emitAt = async ({ stores }: QueueBackend, clock: VirtualClock) =>
  (
    await deliver(stores!.steps!, clock, {
      ...{ event: 'go', key: null, keepMs: 0 },
      got: { at: clock.now() },
    })
  ).reached.map(({ id }) => id);

describe('steps of jobs that move', () => {
  async function story(fate: Fate | null) {
    const clock = createVirtualClock();
    const [origin, goal] = [memory({ clock }), memory({ clock })];
    const late = await fill(origin, clock);
    const sides = fate ? ([mortal(origin, fate), mortal(goal, fate)] as const) : ([origin, goal] as const);
    const moved = await run(...sides, clock).catch(() => null);
    if (!moved) await run(origin, goal, clock);
    expect([await namesAt(goal, 'waits'), await namesAt(goal, 'dead'), await namesAt(goal, 'plain')]).toEqual(
      [['one', 'wait'], ['one'], null],
    );
    // Whatever an attempt does that has slept through it all.
    expect(await late.put('two', () => ({ name: 'two', at: 0 }))).toBeNull();
    // One that is killed just behind the removal of a job leaves a text, which ends by itself.
    if (moved) expect(await emitAt(origin, clock)).toEqual([]);
    expect(await emitAt(goal, clock)).toEqual(['waits']);
    return { moved, origin };
  }

  it('are there before them, and gone where they were', async () => {
    const fate: Fate = { calls: 0, diesAt: Infinity, when: 'before' };
    const { moved, origin } = await story(fate);
    expect(moved).toMatchObject({ waiting: 2, dead: 1, steps: 2, refused: [] });
    expect([await namesAt(origin, 'waits'), await namesAt(origin, 'dead')]).toEqual([null, null]);
    for (let diesAt = 1; diesAt <= fate.calls; diesAt++)
      for (const when of ['before', 'after'] as const) await story({ calls: 0, diesAt, when });
  });

  it('may go back', async () => {
    const clock = createVirtualClock();
    const [origin, goal] = [memory({ clock }), memory({ clock })];
    await fill(origin, clock);
    await run(origin, goal, clock);
    expect(await run(goal, origin, clock)).toMatchObject({ steps: 2 });
    expect([await namesAt(origin, 'waits'), await namesAt(goal, 'waits')]).toEqual([['one', 'wait'], null]);
    expect(await emitAt(origin, clock)).toEqual(['waits']);
  });

  it('keep a job where it is when the goal keeps none', async () => {
    const clock = createVirtualClock();
    const [origin, whole] = [memory({ clock }), memory({ clock })];
    await fill(origin, clock);
    const { steps: _, ...stores } = whole.stores!;
    const moved = await run(origin, { ...whole, stores }, clock);
    expect(moved).toMatchObject({ waiting: 1, dead: 0, steps: 0 });
    expect(moved.refused.map(({ id }) => id)).toEqual(['waits', 'dead']);
    expect(moved.refused[0]!.error).toMatch(/^OPTION: It remembers steps, and memory keeps none/);
    expect(await emitAt(origin, clock)).toEqual(['waits']);
  });

  it('bring an event behind that came at the origin meanwhile', async () => {
    const clock = createVirtualClock();
    const [origin, goal] = [memory({ clock }), memory({ clock })];
    await fill(origin, clock);
    const [from, to] = [origin.stores!.steps!, goal.stores!.steps!];
    const job = message('waits', null);
    expect(await copySteps(from, to, clock, job)).toBe(true);
    expect(await emitAt(origin, clock)).toEqual(['waits']);
    expect(await leaveSteps(from, to, clock, 'waits')).toBe(true);
    const log = stepsIn((await to.read('job:waits'))!.text);
    expect(log.map((step) => 'got' in step)).toEqual([false, true]);
    expect(await emitAt(goal, clock)).toEqual([]);
  });
});
