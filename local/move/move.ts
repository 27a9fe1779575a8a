/**
 * Moves a backlog from one backend to another. Each job is held at the origin, put at the goal as held, removed at the origin, and
 * released at the goal. If the process is killed, the next move finds the held jobs on both sides and continues. No job is lost, and no
 * job is available to workers on both sides.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/base/clock.ts';
import { LongshoreError } from '../../core/base/errors.ts';
import type { QueueBackend, SendResult } from '../../core/contract/queue.ts';
import type { KeyStore } from '../../core/contract/store.ts';
import type { Envelope } from '../../core/envelope/envelope.ts';
import type { KeyRing } from '../../core/envelope/signing.ts';
import { guardKey } from '../../core/features/idempotency/attempt.ts';
import { forEach } from '../../core/kit/parallel.ts';
import type { MovedJob } from './contract.ts';
import {
  type Goal,
  goalOf,
  idsOf,
  jobOfDeadLetter,
  type Origin,
  originOf,
  readEnvelope,
  releaseAll,
} from './sides.ts';
import { type StepCarrier, stepCarrier } from './steps.ts';
import { reasonsToStay, type SomeStores } from './verdicts.ts';

interface MoveOptions {
  readonly from: QueueBackend;
  readonly to: QueueBackend;
  readonly queues: readonly string[];
  readonly clock: Clock;
  /** The stores of both sides. @default the stores of the queues */
  readonly stores?: readonly [from: SomeStores, to: SomeStores];
  /** Moves only some of the source's queues, so work continues there. */
  readonly isPart?: boolean;
  /** Called for a job with stored steps, which must be signed again. If it throws `CONFIG`, these jobs stay. */
  keyRing(): KeyRing;
  /** Ends the move after the current batch of jobs. */
  readonly signal: AbortSignal;
  /** The move waits for jobs that run at the origin or were taken by a killed move. They may return within `longestMs`. */
  onWaiting(queue: string, longestMs: number): void;
  /** Called with the number of jobs that have left the origin. */
  onMoved(count: number): void;
}

interface Refused {
  readonly id: string;
  readonly queue: string;
  /** `CODE: message`. */
  readonly error: string;
}

/** Counts of jobs, over all queues. */
export interface Moved {
  /** Waiting jobs, including delayed ones. */
  waiting: number;
  delayed: number;
  dead: number;
  /** How many of these were already known at the goal, for example after a killed move. */
  known: number;
  /** How many of these lost their attempts, because the goal cannot store them. */
  reset: number;
  /** How many of these were taken by a killed move, and may already be at the goal. */
  unsure: number;
  /** Idempotency keys that were marked as done at the goal. */
  keys: number;
  /** Jobs that were moved with their steps. */
  steps: number;
  /** Dead letters that stayed, because the goal cannot store moved ones. */
  deadLeft: number;
  readonly refused: Refused[];
}

interface Parts {
  readonly options: MoveOptions;
  readonly origin: Origin;
  readonly goal: Goal;
  readonly carryKeys: ReturnType<typeof keyCarrier> | null;
  readonly steps: StepCarrier | null;
  readonly moved: Moved;
}

/** Errors about one job, not the backend: the other jobs still move. */
const refusals = ['LIMIT', 'OPTION', 'PAYLOAD', 'ENVELOPE'];

/** Rejects with `CONFLICT`, before anything moves, if something at the source still needs the jobs. */
export async function move(options: MoveOptions): Promise<Moved> {
  const { from, to, queues, signal, clock } = options;
  const [here, there] = options.stores ?? [from.stores ?? {}, to.stores ?? {}];
  const why = await reasonsToStay({ from: here, to: there, queues, whole: options.isPart !== true });
  if (why.length > 0) throw new LongshoreError('CONFLICT', why.join('\n'));
  const moved: Moved = {
    waiting: 0,
    delayed: 0,
    dead: 0,
    known: 0,
    reset: 0,
    unsure: 0,
    keys: 0,
    steps: 0,
    deadLeft: 0,
    refused: [],
  };
  const id = randomUUID();
  const parts: Parts = {
    options,
    origin: originOf(from, clock),
    goal: goalOf(to, `move-${id.slice(0, 8)}`),
    carryKeys: from.stores && to.stores ? keyCarrier(from.stores.keys, to.stores.keys, `move:${id}`) : null,
    steps: stepCarrier(from, to, options),
    moved,
  };
  for (const queue of queues) {
    if (signal.aborted) break;
    await samePause(options, queue);
    await moveWaiting(parts, queue);
    if (!signal.aborted) await moveDead(parts, queue);
  }
  return moved;
}

const firstPage = 50;
const mostBytes = 8 * 1024 * 1024;

/** Size of the next batch: large for speed, but small enough for memory and one statement. */
function nextSize(size: number, most: number, jobs: readonly MovedJob[]): number {
  const bytes = jobs.reduce((sum, { message }) => sum + message.body.length, 0);
  const fitting = Math.floor((mostBytes * jobs.length) / Math.max(1, bytes));
  // Grows slowly, because small jobs on one page say little about the next.
  return Math.max(1, Math.min(most, fitting, 4 * size));
}

/** Pauses the queue at the goal if it is paused at the origin, so that a move starts no jobs. */
async function samePause({ from, to }: MoveOptions, queue: string): Promise<void> {
  const [stats] = (await from.admin?.stats(queue)) ?? [];
  if (stats?.paused) await to.admin?.setPaused(queue, true);
}

async function moveWaiting(parts: Parts, queue: string): Promise<void> {
  const { origin, goal, options } = parts;
  const { clock, signal } = options;
  let size = Math.min(firstPage, goal.mostAtOnce);
  const stuck: MovedJob[] = [];
  const startedAt = clock.now();
  /** Copies that a killed move has not released. */
  const orphans = (await goal.transfer?.held(queue, 1)) ?? [];
  for (;;) {
    const held = await origin.leftover(queue, size + stuck.length);
    const left = held.filter(({ message }) => !has(stuck, message.id));
    if (left.length === 0) break;
    size = nextSize(size, goal.mostAtOnce, left);
    stuck.push(...(await moveSome(parts, queue, left)));
    if (!goal.transfer) parts.moved.unsure += left.length;
  }
  // All jobs that are held at the goal have left the origin.
  if (origin.holds) await releaseAll(goal, queue);
  let waits = false;
  while (!signal.aborted) {
    const taken = await origin.take(queue, size);
    if (taken.length > 0) {
      size = nextSize(size, goal.mostAtOnce, taken);
      stuck.push(...(await moveSome(parts, queue, taken)));
      continue;
    }
    if (clock.now() >= startedAt + origin.comesBackAfterMs) break;
    if (orphans.length === 0 && (await leasedAt(options.from, queue)) <= stuck.length) break;
    if (!waits) options.onWaiting(queue, origin.comesBackAfterMs);
    waits = true;
  }
  if (!signal.aborted) await releaseAll(goal, queue);
  if (stuck.length > 0) await origin.release(queue, stuck);
}

async function leasedAt({ admin }: QueueBackend, queue: string): Promise<number> {
  return (await admin?.stats(queue))?.[0]?.leased ?? 0;
}

const has = (jobs: readonly MovedJob[], id: string): boolean => jobs.some(({ message }) => message.id === id);

/** Moves some jobs, and returns those that the goal refused. These stay held to the end, so that they are not taken again. */
async function moveSome(parts: Parts, queue: string, taken: readonly MovedJob[]): Promise<MovedJob[]> {
  const { origin, goal, carryKeys, steps, moved, options } = parts;
  const now = options.clock.now();
  const [jobs, stay] = await withSteps(parts, taken);
  if (jobs.length === 0) return [...stay];
  moved.keys += (await carryKeys?.(jobs, now)) ?? 0;
  const { good, known, refused } = sorted(parts, jobs, await goal.put(jobs));
  await steps?.drop(refused);
  const removed = await origin.remove(queue, good);
  const [ours, others] = [good.filter((_, i) => removed[i]), good.filter((_, i) => !removed[i])];
  // Cancelled or released meanwhile: the job stays at the origin.
  if (others.length > 0) await goal.transfer?.remove(queue, idsOf(others));
  await steps?.drop(others);
  await goal.transfer?.release(queue, idsOf(ours));
  moved.steps += (await steps?.leave(ours)) ?? 0;
  moved.waiting += ours.length;
  for (const job of ours) {
    if (job.message.notBefore! > now) moved.delayed++;
    if (known.has(job)) moved.known++;
    if (job.attempts > 0 && !goal.keepsPast) moved.reset++;
  }
  options.onMoved(ours.length);
  return [...stay, ...refused];
}

/** Copies steps to the goal. Returns the jobs that can move, and the jobs that stay because their steps cannot. */
async function withSteps(
  { steps, moved }: Parts,
  jobs: readonly MovedJob[],
): Promise<[good: readonly MovedJob[], stay: readonly MovedJob[]]> {
  const stay = await steps?.bring(jobs);
  if (!stay || stay.size === 0) return [jobs, []];
  for (const [{ message }, error] of stay)
    moved.refused.push({ id: message.id, queue: message.queue, error });
  return [jobs.filter((job) => !stay.has(job)), [...stay.keys()]];
}

/** Dead letters do not run, so they need not be held. */
async function moveDead(parts: Parts, queue: string): Promise<void> {
  const { goal, moved, options, steps } = parts;
  const { from, signal } = options;
  const deadLetters = from.admin?.deadLetters;
  if (!deadLetters) return;
  if (!goal.keepsPast) {
    moved.deadLeft += (await from.admin.stats(queue))[0]?.dead ?? 0;
    return;
  }
  const stuck = new Set<string>();
  let size = Math.min(firstPage, goal.mostAtOnce);
  while (!signal.aborted) {
    const page = await deadLetters.list({ queue, max: size + stuck.size });
    const fresh = page.filter(({ id }) => !stuck.has(id));
    if (fresh.length === 0) return;
    const jobs: MovedJob[] = [];
    await forEach(fresh.entries(), async ([i, dead]) => {
      jobs[i] = jobOfDeadLetter(dead, (await from.stores?.records.get(dead.id)) ?? null);
    });
    size = nextSize(size, goal.mostAtOnce, jobs);
    const [movable, stay] = await withSteps(parts, jobs);
    for (const { message } of stay) stuck.add(message.id);
    if (movable.length === 0) continue;
    const { good, known, refused } = sorted(parts, movable, await goal.put(movable));
    for (const { message } of refused) stuck.add(message.id);
    await steps?.drop(refused);
    const ids = idsOf(good);
    const gone = await deadLetters.discard(ids);
    if (gone < ids.length) {
      // Retried or discarded meanwhile: these jobs stay at the origin.
      const others = await lost(from, ids);
      await options.to.admin?.deadLetters.discard(others);
      for (const id of others) stuck.add(id);
      await steps?.drop(good.filter(({ message }) => others.includes(message.id)));
    }
    moved.steps += (await steps?.leave(good)) ?? 0;
    moved.dead += gone;
    moved.known += known.size;
    options.onMoved(gone);
  }
}

/** The ids that still have a record at the origin after the discard: these jobs were no longer dead. */
async function lost({ stores }: QueueBackend, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const id of ids) if (await stores?.records.get(id)) found.push(id);
  return found;
}

/** Sorts jobs by result: `good` are at the goal, `known` were there before, `refused` were not stored. Throws errors of the goal itself. */
function sorted({ moved }: Parts, jobs: readonly MovedJob[], results: readonly SendResult[]) {
  const good: MovedJob[] = [];
  const known = new Set<MovedJob>();
  const refused: MovedJob[] = [];
  for (const [i, result] of results.entries()) {
    const job = jobs[i]!;
    if (result.ok) {
      good.push(job);
      if (result.duplicate) known.add(job);
      continue;
    }
    const { code, message } = result.error as LongshoreError;
    if (!refusals.includes(code)) throw result.error;
    refused.push(job);
    moved.refused.push({ id: job.message.id, queue: job.message.queue, error: `${code}: ${message}` });
  }
  return { good, known, refused };
}

const holdMs = 30_000;

/** The default of `idempotencyKeepMs`. */
const keepMs = 86_400_000;

/** Returns a function that marks completed keys of some jobs as completed at the goal too, and counts them. */
function keyCarrier(from: KeyStore, to: KeyStore, owner: string) {
  async function carryOne(key: string, now: number): Promise<boolean> {
    const found = await from.claim(key, owner, now + holdMs);
    if (found.state === 'running') return false; // its job runs at the origin and keeps the key there
    if (found.state === 'claimed') {
      const keep = found.value === null ? undefined : { value: found.value, keepUntil: now + keepMs };
      await from.release(key, owner, keep);
      return false;
    }
    const there = await to.claim(key, owner, now + holdMs);
    if (there.state !== 'claimed') return false;
    return to.complete(key, owner, { value: found.value, keepUntil: now + keepMs });
  }

  return async (jobs: readonly MovedJob[], now: number): Promise<number> => {
    const keys = new Set(jobs.flatMap(({ message }) => keyOf(message.body) ?? []));
    let count = 0;
    await forEach(keys, async (key) => {
      if (await carryOne(key, now)) count++;
    });
    return count;
  };
}

function keyOf(body: string): string | null {
  if (!body.includes('"idempotencyKey":"')) return null; // most jobs have no key and need not be parsed
  const envelope = readEnvelope(body) as Envelope | null;
  if (typeof envelope?.idempotencyKey !== 'string' || typeof envelope.job !== 'string') return null;
  return guardKey(envelope.job, envelope);
}
