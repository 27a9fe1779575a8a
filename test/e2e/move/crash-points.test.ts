/** A move that dies at any call it makes, before or after the call took effect, and is begun again: every job runs once. */

import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import type { MovableAdmin } from '../../../local/move/contract.ts';
import { type Moved, move } from '../../../local/move/move.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';
import { type Fate, mortal } from './mortal.ts';

const queues = ['mail', 'reports'] as const;
const hour = 3_600_000;
const keyRing = () => assert.fail('no job here has steps');

/** A broker's queue: without `transfer`, and it takes back by itself what was leased too long. Its waiting is time that passes. */
function plain(backend: QueueBackend, clock: VirtualClock): QueueBackend {
  const { transfer: _, ...admin } = backend.admin! as QueueAdmin & MovableAdmin;
  return {
    ...backend,
    admin,
    async fetch(request) {
      clock.advance(request.waitMs);
      for (const queue of queues) await backend.reapExpired(queue);
      return backend.fetch({ ...request, waitMs: 0 });
    },
  };
}

const message = (id: string, queue: string, notBefore: number | null) => ({
  id,
  queue,
  notBefore,
  job: 'count',
  body: JSON.stringify({ identifier: id, job: 'count', queue, priority: 5 }),
  priority: 5,
  group: null,
  tenantId: null,
});

async function fill(backend: QueueBackend, clock: VirtualClock, delayed: boolean): Promise<string[]> {
  const ids: string[] = [];
  for (const queue of queues) {
    const dead = message(`${queue}-dead`, queue, null);
    await backend.enqueue([dead]);
    const [lease] = await backend.fetch({ queues: [queue], max: 1, leaseMs: hour, waitMs: 0 });
    await backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no' });
    const ready = [1, 2, 3].map((n) => message(`${queue}-${n}`, queue, null));
    const later = delayed ? [message(`${queue}-later`, queue, clock.now() + hour)] : [];
    await backend.enqueue([...ready, ...later]);
    ids.push(...[...ready, ...later].map(({ id }) => id));
  }
  return ids.sort();
}

/** A worker that takes all there is. */
async function work(backend: QueueBackend): Promise<string[]> {
  const done: string[] = [];
  for (;;) {
    const leases = await backend.fetch({ queues, max: 100, leaseMs: hour, waitMs: 0 });
    if (leases.length === 0) return done;
    await backend.ack(leases.map((lease) => ({ lease })));
    done.push(...leases.map(({ body }) => JSON.parse(body).identifier as string));
  }
}

const forgetful = { completedMs: 0 };
const never = new AbortController().signal;

async function run(
  fate: Fate | null,
  origin: QueueBackend,
  goal: QueueBackend,
  clock: VirtualClock,
): Promise<Moved> {
  const [from, to] = fate ? [mortal(origin, fate), mortal(goal, fate)] : [origin, goal];
  return move({ from, to, queues, clock, keyRing, signal: never, onMoved() {}, onWaiting() {} });
}

interface Case {
  readonly title: string;
  readonly originHolds: boolean;
  /** Whether workers run at the origin all the time. */
  readonly originWorks: boolean;
  /** The second move goes back. */
  readonly goesBack?: true;
}
const cases: readonly Case[] = [
  { title: 'with workers on both sides', originHolds: true, originWorks: true },
  { title: 'and then taken back', originHolds: true, originWorks: true, goesBack: true },
  { title: 'from a queue that cannot list delayed jobs', originHolds: false, originWorks: false },
];

describe.each(cases)('a move that is killed, $title', ({ originHolds, originWorks, goesBack }) => {
  async function story(fate: Fate | null) {
    const clock = createVirtualClock();
    const store = memory({ clock, retention: forgetful });
    const origin = originHolds ? store : plain(store, clock);
    const goal = memory({ clock, retention: forgetful });
    const ids = await fill(origin, clock, originHolds);
    const done: string[] = [];
    const workers = async () => {
      done.push(...(await work(goal)));
      if (originWorks) done.push(...(await work(origin)));
    };
    const killed = await run(fate, origin, goal, clock).then(
      () => false,
      () => true,
    );
    await workers();
    if (killed) await (goesBack ? run(null, goal, origin, clock) : run(null, origin, goal, clock));
    await workers();
    clock.advance(hour);
    await workers();
    const dead = await Promise.all([origin, goal].map((one) => one.admin!.deadLetters.list({})));
    return {
      ids,
      done: done.sort(),
      dead: dead
        .flat()
        .map(({ id }) => id)
        .sort(),
      killed,
      goal,
    };
  }

  const deaths = ['mail-dead', 'reports-dead'];

  it('runs every job once, whichever call was its last', async () => {
    const whole: Fate = { calls: 0, diesAt: Number.POSITIVE_INFINITY, when: 'before' };
    const undisturbed = await story(whole);
    expect(undisturbed).toMatchObject({ done: undisturbed.ids, dead: deaths, killed: false });
    expect(whole.calls).toBeGreaterThan(20);
    for (let diesAt = 1; diesAt <= whole.calls; diesAt++) {
      for (const when of ['before', 'after'] as const) {
        const { ids, done, dead, killed } = await story({ calls: 0, diesAt, when });
        expect({ diesAt, when, done, dead, killed }).toEqual({
          diesAt,
          when,
          done: ids,
          dead: deaths,
          killed: true,
        });
      }
    }
  }, 120_000);
});

it('a move that is told to stop ends after the jobs in hand, and holds nothing', async () => {
  const clock = createVirtualClock();
  const [from, to] = [memory({ clock }), memory({ clock })];
  await from.enqueue(Array.from({ length: 1_200 }, (_, i) => message(`job-${i}`, 'mail', null)));
  const stop = new AbortController();
  const moved = await move({
    ...{ from, to, clock, keyRing, queues: ['mail'], signal: stop.signal },
    onWaiting() {},
    onMoved: () => stop.abort(),
  });
  const [[left], [arrived]] = [await from.admin!.stats('mail'), await to.admin!.stats('mail')];
  expect(moved.waiting).toBe(50);
  expect([left!.ready, left!.leased, arrived!.ready, arrived!.leased]).toEqual([1_150, 0, 50, 0]);
});

it('two names of one queue are noticed where nothing else tells, and no job is lost or doubled', async () => {
  const clock = createVirtualClock();
  const store = memory({ clock });
  const ids = Array.from({ length: 30 }, (_, i) => `job-${i}`);
  // A broker drops no second copy: each gets an id of its own there.
  let copies = 0;
  const broker = plain(store, clock);
  const to: QueueBackend = {
    ...broker,
    enqueue: (messages) => broker.enqueue(messages.map((one) => ({ ...one, id: `copy-${++copies}` }))),
  };
  await store.enqueue(ids.map((id) => message(id, 'mail', null)));
  const options = {
    from: broker,
    to,
    clock,
    keyRing,
    queues: ['mail'],
    signal: never,
    onMoved() {},
    onWaiting() {},
  };
  await expect(move(options)).rejects.toMatchObject({ code: 'OPTION' });
  clock.advance(hour);
  await store.reapExpired('mail');
  expect((await work(store)).sort()).toEqual(ids.toSorted());
});
