/** The story of a move that dies: jobs with steps, and what has become of them. */

import { expect } from 'vitest';
import type { Clock } from '../../../core/base/clock.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { keyRing } from '../../../core/envelope/signing.ts';
import { StepLog } from '../../../core/features/steps/log.ts';
import { sealedSteps } from '../../../core/features/steps/seal.ts';
import { type RememberedStep, stepsIn } from '../../../core/features/steps/stored.ts';
import { deliver, register } from '../../../core/features/steps/waiters.ts';
import { type Moved, move } from '../../../local/move/move.ts';
import type { VirtualClock } from '../../testing/virtual-clock.ts';
import { type Fate, mortal } from './mortal.ts';

const hour = 3_600_000;
const ring = keyRing([{ kid: 'k1', secret: new Uint8Array(32).fill(1) }]);

/** As a worker sees them. */
export const stepsAt = ({ stores }: QueueBackend, clock: Clock) =>
  sealedSteps(stores!.steps!, { keyRing: () => ring, clock });
export const queue = 'mail';

export const message = (id: string, notBefore: number | null) => ({
  ...{ id, queue, notBefore, job: 'story', priority: 5, group: null, tenantId: null },
  body: JSON.stringify({ identifier: id, job: 'story', queue, priority: 5 }),
});

/** A job that waits for an event, a dead letter with a step, and a job that has none. */
export async function fill(backend: QueueBackend, clock: VirtualClock) {
  const steps = stepsAt(backend, clock);
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
export const run = (from: QueueBackend, to: QueueBackend, clock: VirtualClock): Promise<Moved> =>
  move({
    from,
    to,
    queues: [queue],
    clock,
    keyRing: () => ring,
    signal: never,
    onMoved() {},
    onWaiting() {},
  });

export const namesAt = async ({ stores }: QueueBackend, id: string): Promise<string[] | null> => {
  const found = await stores!.steps!.read(`job:${id}`);
  return found && stepsIn(found.text).map(({ name }: RememberedStep) => name);
};
export const emitAt = async (backend: QueueBackend, clock: VirtualClock) =>
  (
    await deliver(stepsAt(backend, clock), clock, {
      ...{ event: 'go', key: null, keepMs: 0 },
      got: { at: clock.now() },
    })
  ).reached.map(({ id }) => id);

/** A move that dies as `fate` says, and is begun again. */
export async function story(
  [origin, goal]: readonly [QueueBackend, QueueBackend],
  clock: VirtualClock,
  fate: Fate,
) {
  const late = await fill(origin, clock);
  const moved = await run(mortal(origin, fate, 'origin'), mortal(goal, fate, 'goal'), clock).catch(
    () => null,
  );
  if (!moved) await run(origin, goal, clock);
  expect([await namesAt(goal, 'waits'), await namesAt(goal, 'dead'), await namesAt(goal, 'plain')]).toEqual([
    ['one', 'wait'],
    ['one'],
    null,
  ]);
  // Whatever an attempt does that has slept through it all.
  expect(await late.put('two', () => ({ name: 'two', at: 0 }))).toBeNull();
  // One that is killed just behind the removal of a job leaves a text, which ends by itself.
  if (moved) expect(await emitAt(origin, clock)).toEqual([]);
  expect(await emitAt(goal, clock)).toEqual(['waits']);
  return { moved, origin };
}
