/** A move of jobs with steps that dies behind each kind of call it makes, on real databases. */

import { afterAll, describe, expect, it } from 'vitest';
import type { Fate } from '../../e2e/move/mortal.ts';
import { story } from '../../e2e/move/steps-kit.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { databasesWith } from '../databases.ts';

const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after) await undo();
});
const databases = databasesWith(after);
/** Between these a killed move leaves another state. */
const changes = /write|remove|transfer|enqueue|ack|abandon|hold|put|release|discard|take/;

describe.each([
  ['sqlite', 'postgres'],
  ['postgres', 'redis'],
  ['redis', 'sqlite'],
] as const)('steps that move from %s to %s', (from, to) => {
  it('are whole at the goal, wherever the move was killed', { timeout: 60_000 }, async () => {
    const play = async (fate: Fate) => {
      const clock = createVirtualClock(Date.now());
      const sides = await Promise.all([from, to].map(async (kind) => (await databases[kind]())(clock)));
      try {
        return await story([sides[0]!, sides[1]!], clock, fate);
      } finally {
        await Promise.all(sides.map((side) => side.close()));
      }
    };
    const names: string[] = [];
    const { moved } = await play({ calls: 0, diesAt: Infinity, when: 'before', names });
    expect(moved).toMatchObject({ waiting: 2, dead: 1, steps: 2, refused: [] });
    const boundaries = names.flatMap((name, i) =>
      changes.test(name) && names.indexOf(name) === i ? [i + 1] : [],
    );
    expect(boundaries.length).toBeGreaterThan(3);
    for (const diesAt of boundaries) await play({ calls: 0, diesAt, when: 'after' });
  });
});
