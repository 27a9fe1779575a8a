/** The steps of a job that moves from one queue to another. The job runs on neither side meanwhile. */

import type { Clock } from '../../base/clock.ts';
import type { StepStore } from '../../contract/derived/steps.ts';
import { forEach } from '../../kit/parallel.ts';
import { deliverTo } from './log.ts';
import {
  digestOf,
  endOfCopies,
  forged,
  isOpen,
  isWait,
  logIn,
  nameOfJob,
  namesOf,
  putPiece,
  type RememberedStep,
  readPieces,
  removePieces,
  type StoredLog,
  swapLog,
} from './stored.ts';
import { register } from './waiters.ts';

/** The owner of a log that no attempt on this side has written to. All other owners are digests, which are longer. */
const nobody = 'moved';

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
  const { log } = await swapLog(from, clock, id, undefined, (found) => {
    if (found === null || found.owner === nobody) return { answer: null };
    return { answer: null, log: { ...found, owner: nobody } };
  });
  if (log === null) return false;
  const there = await to.read(nameOfJob(id));
  if (there !== null && logIn(there.text).owner !== nobody) return true;
  const ours = await copyPieces(from, to, clock, id, log);
  const { answer: isOurs } = await swapLog(to, clock, id, there, (theirs) => {
    if (theirs !== null && theirs.owner !== nobody) return { answer: false };
    const steps = ours.steps.map((step) => received(step, theirs) ?? step);
    const names = namesOf(ours);
    const gone = theirs ? namesOf(theirs).filter((name) => !names.includes(name)) : [];
    return { answer: true, log: { ...ours, steps, gone } };
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

/** Copies get other names: a late removal at one side never meets a copy that has come back there. */
async function copyPieces(
  from: StepStore,
  to: StepStore,
  clock: Clock,
  id: string,
  log: StoredLog,
): Promise<StoredLog> {
  const renamed = <T extends { readonly name: string }>(one: T): T => ({
    ...one,
    name: digestOf(one.name).slice(0, 16),
  });
  const keptUntil = endOfCopies(log, clock.now());
  const texts = await readPieces(from, id, log.pieces);
  await forEach(log.pieces.entries(), async ([i, piece]) => {
    const text = texts[i] ?? null;
    if (text === null) throw forged(id, piece);
    await putPiece(to, id, renamed(piece).name, text, keptUntil);
  });
  return {
    ...log,
    pieces: log.pieces.map(renamed),
    next: log.next && renamed(log.next),
    gone: [],
    keptUntil,
  };
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
    const log = logIn(found.text);
    for (const step of log.steps) {
      if (!isWait(step) || !step.got) continue;
      const { event, key, got } = step;
      if ((await deliverTo(to, clock, id, { event, key, got })).length > 0) woken = true;
    }
    if (!(await from.remove(name, found.version))) continue;
    await removePieces(from, id, namesOf(log));
    break;
  }
  return woken;
}

/** Removes the copy of a job that was not moved. */
export async function dropCopy(to: StepStore, clock: Clock, id: string): Promise<void> {
  await swapLog(to, clock, id, undefined, (log) => ({
    answer: null,
    ...(log?.owner === nobody && { log: null }),
  }));
}
