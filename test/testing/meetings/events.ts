/** What happens. */

import type { Happening } from './event.ts';
import type { World } from './world.ts';

/** Whatever people are told of a cancel holds. */
async function cancelFirst(world: World): Promise<void> {
  const { id } = world.jobs[0]!;
  const told = await world.soon(world.people.client.cancel(id));
  if (told === 'cancelled') world.gone.add(id);
}

const cancel: Happening = {
  name: 'cancel',
  meetings: [
    { when: 'while it waits', waiting: cancelFirst },
    { when: 'while it runs', running: cancelFirst },
  ],
};

const killed: Happening = {
  name: 'the worker is killed',
  meetings: [
    {
      when: 'while it runs',
      again: 1,
      running(world) {
        const run = world.runs.find(({ end }) => end === null)!;
        world.processOf(run).kill();
      },
    },
  ],
};

const awayMs = 30_000;

const away: Happening = {
  name: 'the store is away for 30 s',
  meetings: [
    {
      when: 'from the first call of a worker on',
      takesMs: awayMs,
      again: 1,
      waiting(world) {
        const from = world.timeline.elapsed();
        world.isAway = (call, by) =>
          by.startsWith('worker') && call.startsWith('stores.') && world.timeline.elapsed() < from + awayMs;
      },
    },
  ],
};

export const happenings: readonly Happening[] = [cancel, killed, away];
