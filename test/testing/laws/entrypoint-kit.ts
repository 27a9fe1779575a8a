/** The harness of an entry point, and the verbs of its laws. */

import assert from 'node:assert/strict';
import type { Clock } from '../../../core/base/clock.ts';
import { PermanentError, SnoozeError } from '../../../core/base/errors.ts';
import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { DeadLetter } from '../../../core/contract/admin.ts';
import { keyRing } from '../../../core/envelope/signing.ts';
import { createApp } from '../../../core/features/table.ts';
import type { App, FailureHook } from '../../../core/kernel/app/app.ts';
import { defineJob, type HandlerContext, type Job } from '../../../core/kernel/app/job.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import type { StandardSchema } from '../../../core/kernel/app/schema.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { mail, minute, reports, second } from './kit.ts';

export interface EntrypointOptions {
  /** Jobs that one call runs at the same time. @default 10 */
  readonly concurrency?: number;
  /** More time passes than a test can wait for: only where the time is the test's own. */
  readonly takesTime?: boolean;
}

export const takesTime = { takesTime: true } as const;

/** The result of one call for the platform. */
export interface Delivered {
  /** How many messages were handed over; 0 = nothing was ready and the function was not called. */
  readonly taken: number;
  /** How many of them have come to their end: no copy of them is left to come again. */
  readonly done: number;
  /** The error of the entry point, unless throwing is its way to say "not done". */
  readonly thrown: unknown;
}

/** Queues 'mail' and 'reports' with their dead letters, and one entry point for both. */
export interface EntrypointBench {
  readonly client: Client;
  /** Hands what is ready in a queue to the entry point, once, as the platform does; with so much time for it. */
  deliver(queue: string, timeoutMs: number): Promise<Delivered>;
  /** The platform takes what is ready, and its call comes to nothing: the process dies before it has done anything. */
  lose(queue: string): Promise<void>;
  /** Calls the entry point with something that is not from its queue. */
  call(event: unknown): Promise<unknown>;
  /** Puts a text into a queue, as a stranger with write access could. */
  write(queue: string, body: string): Promise<void>;
  advance(ms: number): Promise<void> | void;
  deadLetters(): Promise<DeadLetter[]>;
  /** The dead letters cannot be written to, until the function that is returned was called. */
  breakDeadLetters(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface EntrypointHarness {
  /** `false`: the platform has a clock of its own, and laws that take more than seconds are skipped. @default true */
  readonly timeIsOurs?: boolean;
  /** How long a message is hidden whose call came to nothing. */
  readonly visibilityMs: number;
  /** Each message is a call of its own, with all the time that a call has. @default messages share their call */
  readonly callsAreSingle?: true;
  readonly clock: () => Clock;
  open(app: App, options: EntrypointOptions): Promise<EntrypointBench>;
}

export type EntrypointLaw = (
  name: string,
  check: (t: EntrypointKit) => Promise<void>,
  options?: EntrypointOptions,
) => void;

export interface Payload {
  readonly name: string;
}

export interface Ran {
  readonly name: string;
  readonly ctx: HandlerContext;
}

export interface EntrypointKit {
  readonly bench: EntrypointBench;
  readonly clock: Clock;
  readonly visibilityMs: number;
  readonly callsAreSingle: boolean;
  /** Does what `behaviour` says for the payload's name; retried after a minute, three attempts. */
  readonly job: Job<Payload>;
  /** The same under an idempotency key: its name. */
  readonly once: Job<Payload>;
  /** The same, one in ten minutes. */
  readonly rated: Job<Payload>;
  /** The same; two failures in a row stop it for ten minutes. */
  readonly fragile: Job<Payload>;
  /** Every run that has begun. */
  readonly ran: readonly Ran[];
  readonly events: readonly LongshoreEvent[];
  /** Calls of `onError` and `onDeadLetter` that have ended, each some turns of the event loop after it began. */
  readonly hooked: readonly string[];
  /** By payload name; without one a run succeeds. */
  readonly behaviour: Map<string, (ctx: HandlerContext) => unknown>;
  enqueue(name: string, options?: { delayMs?: number; job?: Job<Payload> }): Promise<string>;
  /** One call with a minute of time, which must not throw. */
  deliver(queue?: string, timeoutMs?: number): Promise<{ taken: number; done: number }>;
  /** Calls until nothing is ready. */
  deliverAll(): Promise<void>;
  advance(ms: number): Promise<void>;
  nothingEverComes(): Promise<void>;
  /** Resolves when `count` runs have started. */
  begun(count: number): Promise<void>;
}

const schema: StandardSchema<Payload, Payload> = {
  '~standard': {
    version: 1,
    vendor: 'laws',
    validate: (value) =>
      typeof (value as Payload | null)?.name === 'string'
        ? { value: value as Payload }
        : { issues: [{ message: 'expected a name' }] },
  },
};

export const permanent = (): never => {
  throw new PermanentError('no such invoice');
};
export const snooze = (): never => {
  throw new SnoozeError(2 * minute, 'the bank is closed');
};
export const fail = (): never => {
  throw new Error('the mail server is down');
};

export async function createEntrypointKit(
  harness: EntrypointHarness,
  options: EntrypointOptions,
): Promise<EntrypointKit> {
  const clock = harness.clock();
  const ran: Ran[] = [];
  const events: LongshoreEvent[] = [];
  const hooked: string[] = [];
  const hook = (name: string): FailureHook => {
    return async ({ message }, { id, outcome }) => {
      for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
      hooked.push(`${name} ${id} ${outcome}: ${message}`);
    };
  };
  const behaviour = new Map<string, (ctx: HandlerContext) => unknown>();
  const rest = {
    queue: mail,
    payload: schema,
    maxRetries: 2,
    retry: fixed(minute),
    timeoutMs: 20 * second,
    async handle({ name }: Payload, ctx: HandlerContext) {
      ran.push({ name, ctx });
      return behaviour.get(name)?.(ctx);
    },
  };
  const job = defineJob({ ...rest, name: 'law.job' });
  const once = defineJob({ ...rest, name: 'law.once', idempotencyKey: ({ name }) => name });
  const rated = defineJob({ ...rest, name: 'law.rated', rate: { limit: 1, perMs: 10 * minute } });
  const fragile = defineJob({
    ...rest,
    name: 'law.fragile',
    breaker: { failures: 2, openMs: 10 * minute },
  });
  const app = createApp({
    jobs: [job, once, rated, fragile],
    signing: keyRing([{ kid: 'laws', secret: new Uint8Array(32).fill(3) }]),
    clock,
    random: () => 0.5,
    on: (event) => events.push(event),
    onError: hook('onError'),
    onDeadLetter: hook('onDeadLetter'),
  });
  const bench = await harness.open(app, options);

  const kit: EntrypointKit = {
    bench,
    clock,
    visibilityMs: harness.visibilityMs,
    callsAreSingle: harness.callsAreSingle === true,
    job,
    once,
    rated,
    fragile,
    ran,
    events,
    hooked,
    behaviour,
    async enqueue(name, { job: chosen = job, ...how } = {}) {
      return (await bench.client.enqueue(chosen, { name }, how)).id;
    },
    async deliver(queue = mail, timeoutMs = minute) {
      const { thrown, taken, done } = await bench.deliver(queue, timeoutMs);
      assert.equal(thrown, null);
      return { taken, done };
    },
    async deliverAll() {
      for (const queue of [mail, reports]) {
        while ((await kit.deliver(queue)).taken > 0);
      }
    },
    advance: async (ms) => bench.advance(ms),
    async nothingEverComes() {
      for (const ms of [0, minute, harness.visibilityMs, 60 * minute]) {
        await bench.advance(ms);
        for (const queue of [mail, reports]) assert.equal((await kit.deliver(queue)).taken, 0);
      }
    },
    async begun(count) {
      while (ran.length < count) await new Promise(setImmediate);
    },
  };
  return kit;
}
