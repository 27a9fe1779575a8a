/**
 * The interface between features and the kernel, as data: where a feature runs around an attempt, and its work outside of jobs. A feature is a
 * folder and one line in table.ts; the kernel names no feature.
 */

import type { Installed } from '../kernel/app/installed.ts';
import { timely } from '../kernel/attempt/admit.ts';
import type { Admitted, EndStep, Maybe, RunInIsolate, RunStep, Steps } from '../kernel/attempt/attempt.ts';
import type { ContextDoors } from '../kernel/attempt/context.ts';
import type { Needs } from '../kernel/enqueue/abilities.ts';
import type {
  ClientDoor,
  ClientParts,
  Closing,
  Forget,
  Predecessor,
  Uniqueness,
} from '../kernel/enqueue/parts.ts';
import type { Chore } from '../kernel/worker/chores.ts';
import type { BoundQueues, CountAttempts } from '../kernel/worker/state.ts';

/**
 * Slots around the run, from the outermost to the handler. A job at its limit has not begun and holds no key. The output kept under a completed
 * key is handed on, too. A job whose key is completed gets no second record and begins no transaction.
 */
export const runSlots = ['pause', 'limit', 'hand on', 'key', 'record', 'transaction', 'monitor'] as const;

/**
 * Slots around the settlement, the outermost first: its code before `next` runs first, its code after `next` runs last. The outer slots need to
 * know whether the settlement took effect. A child is counted before it is settled; otherwise its end could be lost. Log lines are added to the
 * report before it is recorded. A payload is deleted after the record, which tells a late copy of the message that the job is done. The writes
 * of a transaction are recorded after its commit. A key is released before its message comes back. The record is written before the queue.
 */
export const endSlots = [
  ...['remember', 'limit', 'monitor', 'count', 'log', 'payload'],
  ...['record after commit', 'key', 'record', 'transaction'],
] as const;

export type RunSlot = (typeof runSlots)[number];
export type EndSlot = (typeof endSlots)[number];

export interface Feature {
  /** Loads the payload before it is checked. */
  readonly load?: RunStep;
  readonly run?: Readonly<Partial<Record<RunSlot, RunStep>>>;
  readonly end?: Readonly<Partial<Record<EndSlot, EndStep>>>;
  /** Whether an earlier attempt of the job has begun its work, even if the job may no longer begin. */
  readonly hasBegun?: (it: Admitted) => Maybe<boolean>;
  /** Regular work of the workers, outside of jobs. */
  readonly chores?: readonly Chore[];
  /** Members of clients. */
  readonly client?: ClientDoor;
  /** Members of the context of handlers. */
  readonly context?: ContextDoors;
  readonly isolate?: RunInIsolate;
  readonly closing?: Closing;
  readonly forget?: Forget;
  readonly predecessor?: Predecessor;
  readonly uniqueness?: Uniqueness;
  readonly counter?: CountAttempts;
  readonly bounds?: BoundQueues;
  readonly needs?: Needs;
}

/** Several steps in one slot are in the order of the table. */
export const installedFrom = (features: readonly Feature[]): Installed => ({
  steps: {
    beforeTheCheck: [timely, ...features.flatMap(({ load }) => load ?? [])],
    aroundTheRun: runSlots.flatMap((slot) => features.flatMap(({ run }) => run?.[slot] ?? [])),
    aroundTheEnd: endSlots.flatMap((slot) => features.flatMap(({ end }) => end?.[slot] ?? [])),
    hasBegun: features.flatMap(({ hasBegun }) => hasBegun ?? []),
    isolate: features.flatMap(({ isolate }) => isolate ?? [])[0]!,
  } satisfies Steps,
  needs: features.flatMap(({ needs }) => needs ?? []),
  chores: features.flatMap(({ chores }) => chores ?? []),
  client: {
    doors: features.flatMap(({ client }) => client ?? []),
    closing: features.flatMap(({ closing }) => closing ?? []),
    forget: features.flatMap(({ forget }) => forget ?? []),
    predecessor: features.flatMap(({ predecessor }) => predecessor ?? []),
    uniqueness: features.flatMap(({ uniqueness }) => uniqueness ?? [])[0]!,
  } satisfies ClientParts,
  context: Object.assign({}, ...features.map(({ context }) => context)),
  counter: features.flatMap(({ counter }) => counter ?? [])[0]! satisfies CountAttempts,
  bounds: features.flatMap(({ bounds }) => bounds ?? [])[0]! satisfies BoundQueues,
});
