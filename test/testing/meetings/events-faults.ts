/** Faults: stores that are down, processes that are frozen, killed or late, lost answers, clock steps. */

import type { Happening, Meeting } from './event.ts';
import { leaseMs, type Process } from './process.ts';
import type { World } from './world.ts';

const atWork = (world: World): Process => world.processOf(world.runs.find(({ end }) => end === null)!);

export const killedOnLastAttempt: Happening = {
  meetings: [
    {
      when: 'on its first attempt',
      again: 1,
      running: (world) => atWork(world).kill(),
    },
    {
      when: 'on its last attempt',
      takesMs: 60_000,
      again: 1,
      waiting({ target, failing, mayDie }) {
        if (!target) return;
        failing.add(target.label);
        mayDie.add(target.id);
      },
      async running(world) {
        const label = world.target?.label;
        const isLast = () =>
          world.runs.filter((run) => run.label === label && run.end === 'failed').length === 2;
        const isThere = () => world.runs.find((run) => run.label === label && run.end === null);
        await world.timeline.until(() => isLast() && isThere() !== undefined, 200_000);
        const run = isThere();
        if (run) world.processOf(run).kill();
        world.failing.clear();
      },
    },
  ],
};

const frozenMs = 2 * leaseMs;

export const staleOwner: Happening = {
  meetings: [
    {
      when: 'when another has its job',
      takesMs: frozenMs,
      again: 1,
      async running(world) {
        const owner = atWork(world);
        owner.freeze();
        await world.pass(frozenMs);
        owner.thaw();
      },
    },
  ],
};

const awayMs = 30_000;

/** Refuses calls for half a minute, from this number on and of the same kind. */
const awayFrom = (call: number, of: 'stores' | 'all'): Meeting => ({
  when: `from call ${call} of the workers on${of === 'all' ? ', with the queue' : ''}`,
  takesMs: awayMs,
  again: 1,
  deafens: true,
  before(world) {
    let calls = 0;
    let until = Infinity;
    world.isAway = (name, by) => {
      if (!by.startsWith('worker') || (of === 'stores' && !name.startsWith('stores.'))) return false;
      calls++;
      const now = world.timeline.elapsed();
      if (calls === call) until = now + awayMs;
      return calls >= call && now < until;
    };
  },
});

export const storeAway: Happening = {
  meetings: [1, 3, 6, 10, 15, 21].flatMap((call) => [awayFrom(call, 'stores'), awayFrom(call, 'all')]),
};

const senderFrozenMs = 120_000;
const senderCalls = [1, 2, 3, 4, 6, 8];

export const senderFrozen: Happening = {
  meetings: senderCalls.map((call) => ({
    when: `in its call ${call}, while another sends the same`,
    takesMs: senderFrozenMs,
    before(world) {
      const { sender, timeline } = world;
      sender.moments.set(call, () => {
        sender.freeze();
        timeline.clock.after(senderFrozenMs, sender.thaw);
        if (world.sample.meanwhile || world.sample.replaces) return;
        const other = world.start('other sender');
        timeline.clock.after(senderFrozenMs / 2, async () => {
          world.rounds.set('0', await world.sample.send(other, '0'));
        });
      });
    },
  })),
};

export const deliveredTwice: Happening = {
  meetings: [
    {
      when: 'when it is sent',
      before(world) {
        world.sender.twice.add('enqueue');
        if (world.takesTwice) world.resent++;
      },
    },
  ],
};

const hourMs = 3_600_000;

export const clockStep: Happening = {
  meetings: [
    { when: 'while it waits', waiting: ({ timeline }) => timeline.stepForward(hourMs) },
    { when: 'while it runs', again: 1, running: ({ timeline }) => timeline.stepForward(hourMs) },
  ],
};
