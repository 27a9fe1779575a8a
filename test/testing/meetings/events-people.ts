/** Actions of operators: cancel, remove, change and run jobs, clear and purge queues, and settle dead letters. */

import type { Job } from '../../../core/index.ts';
import type { Happening, Meeting } from './event.ts';
import { filling, queue } from './jobs.ts';
import type { Work } from './process.ts';
import { changed } from './verdict.ts';
import type { World } from './world.ts';

/** At every time before a job is settled. */
const atAnyTime = (act: (world: World) => Promise<void>): readonly Meeting[] => [
  { when: 'while it waits', waiting: act },
  { when: 'while it runs', running: act },
  {
    when: 'between two attempts',
    async waiting(world) {
      if (world.target) world.failing.add(world.target.label);
    },
    async running(world) {
      await world.soon(failedOnce(world), 120_000).catch(() => {}); // the job may never begin
      world.failing.clear();
      await act(world);
    },
  },
];

async function failedOnce(world: World): Promise<void> {
  while (!world.runs.some(({ end }) => end === 'failed'))
    await new Promise<void>((resolve) => world.people.clock.after(100, resolve));
}

export const cancel: Happening = {
  meetings: atAnyTime(async (world) => {
    if (!world.target) return;
    const { id } = world.target;
    const told = await world.soon(world.people.client.cancel(id));
    if (told === 'cancelled') world.gone.add(id);
    if (told !== 'cancelling') return;
    // The job may have ended before it noticed this.
    const record = await world.soon(ended(world, id));
    if (record !== 'completed') world.stopped.add(id);
  }),
};

/** Resolves with the final status. */
async function ended(world: World, id: string): Promise<string | undefined> {
  for (;;) {
    const record = await world.people.client.status(id);
    if (!record || record.finishedAt !== null) return record?.status;
    await new Promise<void>((resolve) => world.people.clock.after(100, resolve));
  }
}

export const remove: Happening = {
  meetings: atAnyTime(async (world) => {
    if (!world.target) return;
    const { id } = world.target;
    if (await world.soon(world.people.client.remove(id))) world.gone.add(id);
  }),
};

const workOf = ({ sample, target }: World): Work => ({
  label: target!.label,
  note: changed,
  ...(sample.offloads && { filling }),
});

const jobOfTarget = ({ people, target }: World) => people.app.jobs.get(target!.job) as Job<unknown>;

export const update: Happening = {
  meetings: [
    ...atAnyTime(async (world) => {
      if (!world.target) return;
      const { id } = world.target;
      const payload = workOf(world) as never;
      if (await world.soon(world.people.client.update(jobOfTarget(world), id, { payload })))
        world.changed.set(id, world.timeline.clock.now());
    }),
    {
      when: 'while it waits, with a later time',
      takesMs: 20_000,
      async waiting(world) {
        if (!world.target) return;
        const { id } = world.target;
        const isChanged = await world.soon(
          world.people.client.update(jobOfTarget(world), id, { delayMs: 20_000 }),
        );
        if (isChanged) world.times.set(id, world.timeline.clock.now() + 20_000);
      },
    },
  ],
};

export const promote: Happening = {
  meetings: atAnyTime(async (world) => {
    if (!world.target) return;
    const { id } = world.target;
    if (await world.soon(world.people.client.promote(id))) world.times.set(id, 0);
  }),
};

const waits: ReadonlySet<string> = new Set(['pending', 'retrying']);

export const clear: Happening = {
  meetings: atAnyTime(async (world) => {
    const before = (await world.records()).filter(({ status }) => waits.has(status));
    const told = await world.soon(world.operator().queues.clear(queue));
    const after = new Map((await world.records()).map(({ id, status }) => [id, status]));
    const gone = before.filter(({ id }) => (after.get(id) ?? 'cancelled') === 'cancelled');
    for (const { id } of gone) world.gone.add(id);
    if (told !== gone.length) throw new Error(`clear() reported ${told} jobs, but ${gone.length} are gone.`);
  }),
};

export const purge: Happening = {
  meetings: [...atAnyTime(purgeAll), { when: 'when it has ended', ended: purgeAll }],
};

async function purgeAll(world: World): Promise<void> {
  world.purged = true;
  const { records } = world.people.client.stores;
  while ((await world.soon(records.purge({ completedMs: 0, deadMs: 0 }))) > 0);
}

/** Records and dead letters are deleted when their jobs end. */
function forgetAtOnce(world: World): void {
  world.everyJob = { retention: { completedMs: 0, deadMs: 0 } };
  world.purged = true;
}

export const retention: Happening = {
  meetings: [
    { when: 'of nothing', before: forgetAtOnce },
    {
      when: 'of nothing, when it dies',
      takesMs: 60_000,
      before: forgetAtOnce,
      waiting: failUntilDead,
      async running(world) {
        if (world.target) await world.soon(ended(world, world.target.id));
        world.failing.clear();
      },
    },
  ],
};

function failUntilDead({ target, failing, mayDie }: World): void {
  if (!target) return;
  failing.add(target.label);
  mayDie.add(target.id);
}

/** The first job fails until it is a dead letter, which is then settled. */
const deadLetter = (settle: (world: World, id: string) => Promise<void>): Happening => ({
  meetings: [
    {
      when: 'when it has died',
      takesMs: 60_000,
      waiting: failUntilDead,
      async running(world) {
        if (!world.target) return;
        const { id } = world.target;
        const status = await world.soon(ended(world, id));
        world.failing.clear();
        if (status === 'failed') await settle(world, id);
      },
    },
  ],
});

const deadRetry = deadLetter(async (world, id) => {
  const { done } = await world.soon(world.operator().deadLetters.retry({ ids: [id] }));
  if (done === 1) world.mended.add(id);
  world.mayDie.clear();
});

const deadEdit = deadLetter(async (world, id) => {
  await world.soon(world.operator().deadLetters.edit(id, { payload: workOf(world) }));
  world.mended.add(id);
  world.changed.set(id, world.timeline.clock.now());
  world.mayDie.clear();
});

const deadDiscard = deadLetter(async (world, id) => {
  const { done } = await world.soon(world.operator().deadLetters.discard({ ids: [id] }));
  if (done === 1) world.gone.add(id);
});

export { deadDiscard, deadEdit, deadRetry };
