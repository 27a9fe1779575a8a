/** Steps move with their jobs, also when the move dies at any of its calls and is begun again. */

import { describe, expect, it } from 'vitest';
import { copySteps, leaveSteps } from '../../../core/features/steps/move.ts';
import { stepsOf } from '../../../core/features/steps/show.ts';
import { stepsIn } from '../../../core/features/steps/stored.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import type { Fate } from './mortal.ts';
import { emitAt, fill, message, namesAt, run, stepsAt, story } from './steps-kit.ts';

describe('steps of jobs that move', () => {
  it('are there before them, and gone where they were', async () => {
    const fate: Fate = { calls: 0, diesAt: Infinity, when: 'before' };
    const clock = createVirtualClock();
    const fresh = () => [memory({ clock }), memory({ clock })] as const;
    const { moved, origin } = await story(fresh(), clock, fate);
    expect(moved).toMatchObject({ waiting: 2, dead: 1, steps: 2, refused: [] });
    expect([await namesAt(origin, 'waits'), await namesAt(origin, 'dead')]).toEqual([null, null]);
    for (let diesAt = 1; diesAt <= fate.calls; diesAt++)
      for (const when of ['before', 'after'] as const)
        await story(fresh(), clock, { calls: 0, diesAt, when });
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

  it('are in pieces on both sides when they are many, and leave none behind', async () => {
    const clock = createVirtualClock();
    const [origin, goal] = [memory({ clock }), memory({ clock })];
    const late = await fill(origin, clock);
    for (let n = 0; n < 30; n++)
      await late.put(`s-${n}`, () => ({ name: `s-${n}`, at: clock.now(), value: 'x'.repeat(20_000) }));
    const pieces = async ({ stores }: typeof origin) =>
      (await stores!.texts!.list({ prefix: 'piece:', max: 100 })).map(({ name }) => name);
    const before = await pieces(origin);
    expect(before.length).toBeGreaterThan(1);
    const shown = async ({ stores }: typeof origin) =>
      (await stepsOf(stores!, 'waits', clock.now())).steps.map(({ name }) => name);
    const names = await shown(origin);
    expect(names).toHaveLength(32);
    await run(origin, goal, clock);
    expect([await pieces(origin), await shown(goal)]).toEqual([[], names]);
    await run(goal, origin, clock);
    expect([await pieces(goal), await shown(origin)]).toEqual([[], names]);
    // A removal that comes late, of the first move, would find none of them.
    expect((await pieces(origin)).filter((name) => before.includes(name))).toEqual([]);
    expect(await emitAt(origin, clock)).toEqual(['waits']);
  });

  it('keep a job where it is when a piece of them is missing', async () => {
    const clock = createVirtualClock();
    const [origin, goal] = [memory({ clock }), memory({ clock })];
    const late = await fill(origin, clock);
    for (const name of ['large', 'next'])
      await late.put(name, () => ({ name, at: clock.now(), value: 'x'.repeat(70_000) }));
    const texts = origin.stores!.texts!;
    await texts.remove(await texts.list({ prefix: 'piece:', max: 1 }));
    const moved = await run(origin, goal, clock);
    expect(moved.refused).toMatchObject([{ id: 'waits' }]);
    expect(moved.refused[0]!.error).toMatch(/^SIGNATURE: The stored text "piece:waits:/);
    expect(await namesAt(goal, 'waits')).toBeNull();
  });

  it('keep a job where it is when the goal keeps none', async () => {
    const clock = createVirtualClock();
    const [origin, whole] = [memory({ clock }), memory({ clock })];
    await fill(origin, clock);
    const { steps: _, texts: __, ...stores } = whole.stores!;
    const moved = await run(origin, { ...whole, stores }, clock);
    expect(moved).toMatchObject({ waiting: 1, dead: 0, steps: 0 });
    expect(moved.refused.map(({ id }) => id)).toEqual(['waits', 'dead']);
    expect(moved.refused[0]!.error).toMatch(/^OPTION: The job has stored steps, which memory cannot keep/);
    expect(await emitAt(origin, clock)).toEqual(['waits']);
  });

  it('bring an event behind that came at the origin meanwhile', async () => {
    const clock = createVirtualClock();
    const [origin, goal] = [memory({ clock }), memory({ clock })];
    await fill(origin, clock);
    const [from, to] = [stepsAt(origin, clock), stepsAt(goal, clock)];
    const job = message('waits', null);
    expect(await copySteps(from, to, clock, job)).toBe(true);
    expect(await emitAt(origin, clock)).toEqual(['waits']);
    expect(await leaveSteps(from, to, clock, 'waits')).toBe(true);
    const log = stepsIn((await to.read('job:waits'))!.text);
    expect(log.map((step) => 'got' in step)).toEqual([false, true]);
    expect(await emitAt(goal, clock)).toEqual([]);
  });

  it('keep a job where it is when somebody has written them who has no key', async () => {
    const clock = createVirtualClock();
    const [origin, goal] = [memory({ clock }), memory({ clock })];
    await fill(origin, clock);
    const steps = origin.stores!.steps!;
    const { text, version } = (await steps.read('job:waits'))!;
    await steps.write('job:waits', text.replace('"one"', '"two"'), version, clock.now() + 1e9);
    const moved = await run(origin, goal, clock);
    expect(moved).toMatchObject({ waiting: 1, dead: 1, steps: 1, refused: [{ id: 'waits' }] });
    expect(moved.refused[0]!.error).toMatch(/^SIGNATURE: The stored text "job:waits"/);
    expect(await namesAt(goal, 'waits')).toBeNull();
  });
});
