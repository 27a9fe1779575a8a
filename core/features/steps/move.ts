/** The steps of a job that moves from one queue to another. The job runs on neither side meanwhile. */

import type { Clock } from '../../base/clock.ts';
import type { StepStore } from '../../contract/derived/steps.ts';
import { swap } from '../../kit/records/swap.ts';
import { deliverTo, isOpen, isWait, nameOfJob, type RememberedStep, type StoredLog, swapped } from './log.ts';
import { register } from './waiters.ts';

/** The owner of a log that no attempt on this side has written to. All other owners are digests, which are longer. */
const nobody = 'moved';

const logIn = (text: string): StoredLog => JSON.parse(text) as StoredLog;

export const hasLog = async (store: StepStore, id: string): Promise<boolean> =>
  (await store.read(nameOfJob(id))) !== null;

/**
 * Copies the job's steps and its waits. From then on no late attempt can write at the origin. May be repeated: steps that an attempt has written
 * at the target are not overwritten. `false` = the job has no steps.
 */
export async function copySteps(
  from: StepStore,
  to: StepStore,
  clock: Clock,
  { id, queue, tenantId }: { readonly id: string; readonly queue: string; readonly tenantId: string | null },
): Promise<boolean> {
  const name = nameOfJob(id);
  const { now: found } = await swap(from, name, undefined, (text) => {
    const log = text === null ? null : logIn(text);
    if (log === null || log.owner === nobody) return { answer: null };
    return swapped(null, { ...log, owner: nobody }, clock.now());
  });
  if (found === null) return false;
  const ours = logIn(found.text);
  const { answer: isOurs } = await swap(to, name, undefined, (text) => {
    const theirs = text === null ? null : logIn(text);
    if (theirs !== null && theirs.owner !== nobody) return { answer: false };
    const steps = ours.steps.map((step) => received(step, theirs) ?? step);
    return swapped(true, { ...ours, steps }, clock.now());
  });
  if (!isOurs) return true;
  for (const step of ours.steps.filter((one) => isWait(one) && isOpen(one, clock.now()))) {
    const { event, key, until } = step as Extract<RememberedStep, { event: string }>;
    const waiter = { id, queue, step: step.name, until, ...(tenantId !== null && { tenantId }) };
    const kept = await register(to, clock, event, key, waiter);
    if (kept) await deliverTo(to, clock, id, { event, key, got: kept });
  }
  return true;
}

/** The event that a wait received at the target after an interrupted move. */
function received(step: RememberedStep, theirs: StoredLog | null): RememberedStep | undefined {
  if (!isWait(step) || step.got) return undefined;
  return theirs?.steps.find((one) => one.name === step.name && isWait(one) && one.got);
}

/**
 * Removes the steps at the origin. An event that arrived there after the copy is delivered at the target: `true` = there was one, so the job may
 * continue at once.
 */
export async function leaveSteps(from: StepStore, to: StepStore, clock: Clock, id: string): Promise<boolean> {
  const name = nameOfJob(id);
  let woken = false;
  for (let found = await from.read(name); found !== null; found = await from.read(name)) {
    for (const step of logIn(found.text).steps) {
      if (!isWait(step) || !step.got) continue;
      const { event, key, got } = step;
      if ((await deliverTo(to, clock, id, { event, key, got })).length > 0) woken = true;
    }
    if (await from.remove(name, found.version)) break;
  }
  return woken;
}

/** Removes the copy of a job that was not moved. */
export async function dropCopy(to: StepStore, id: string): Promise<void> {
  await swap(to, nameOfJob(id), undefined, (text) => ({
    answer: null,
    ...(text !== null && logIn(text).owner === nobody && { text: null }),
  }));
}
