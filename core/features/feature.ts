/**
 * What a feature is to the kernel, as data: where it stands around an attempt, and what it does beside jobs. A feature is its folder and one line in table.ts, and the
 * kernel names none.
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
import type { CountAttempts } from '../kernel/worker/state.ts';

/**
 * Places around the run, from the outside to the handler. A job at its limit holds no key, and has not begun. What a key says was done is
 * handed on as well. A job whose key says that it is done gets no second record, and begins no transaction.
 */
export const runSlots = ['pause', 'limit', 'hand on', 'key', 'record', 'transaction', 'monitor'] as const;

/**
 * Places around the settlement, the outermost first: its code before `next` runs first, that after `next` last. Outside of the others stands what
 * needs to know whether the settlement took effect. A child is counted before it is settled, or it may be counted by nobody. Log lines are part
 * of the report before it is recorded. A payload is dropped after the record, which shows a late copy of the message that the job is done. What a
 * transaction wrote is recorded when it has committed. A key is released before its message comes back. The record comes before the queue.
 */
export const endSlots = [
  ...['remember', 'limit', 'monitor', 'count', 'log', 'payload'],
  ...['record after commit', 'key', 'record', 'transaction'],
] as const;

export type RunSlot = (typeof runSlots)[number];
export type EndSlot = (typeof endSlots)[number];

export interface Feature {
  /** Brings the payload, before it is checked. */
  readonly load?: RunStep;
  readonly run?: Readonly<Partial<Record<RunSlot, RunStep>>>;
  readonly end?: Readonly<Partial<Record<EndSlot, EndStep>>>;
  /** Whether an attempt of the job has begun its work, though the job may not begin any more. */
  readonly hasBegun?: (it: Admitted) => Maybe<boolean>;
  /** What workers do for it beside jobs. */
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
  readonly needs?: Needs;
}

/** Several in one place stand in the order of the table. */
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
});
