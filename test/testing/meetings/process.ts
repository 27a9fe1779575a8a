/** A process of the world: an app, a client and a worker, which can be frozen, killed or cut off from its queue. */

import type { AppOptions } from '../../../core/app/app.ts';
import type { Clock } from '../../../core/base/clock.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import {
  type App,
  type Client,
  connect,
  createApp,
  type HandlerContext,
  keyRing,
  startWorker,
} from '../../../core/index.ts';
import { behind, type Gate } from './calls.ts';
import type { Timeline } from './timeline.ts';

const signing = keyRing([{ kid: 'meetings', secret: new Uint8Array(32).fill(7) }]);

/** One run of a handler, as the handler saw it. */
export interface Run {
  /** Names the piece of work: it is in the payload of its job. */
  readonly label: string;
  readonly id: string;
  readonly by: string;
  readonly attempt: number;
  readonly beganAt: number;
  endedAt: number | null;
  /** `null` = it is at work, or its process was killed. */
  end: 'done' | 'failed' | 'aborted' | null;
}

export type AppParts = Pick<AppOptions, 'jobs' | 'schedules' | 'queues' | 'use'>;

export interface ProcessOptions {
  readonly name: string;
  readonly timeline: Timeline;
  readonly backend: QueueBackend;
  readonly runs: Run[];
  /** Labels whose handlers throw. */
  readonly failing: ReadonlySet<string>;
  newId(): string;
  /** The store or the queue is away for this call. */
  isAway(call: string): boolean;
  app(self: Process): AppParts;
}

export type Process = ReturnType<typeof createProcess>;

export const leaseMs = 30_000;
export const workMs = 1_000;

export function createProcess(options: ProcessOptions) {
  const { name, timeline, runs, failing } = options;
  let state: 'alive' | 'frozen' | 'dead' = 'alive';
  let thawed = Promise.withResolvers<void>();
  const calls: string[] = [];
  /** Before the call of this number. */
  const moments = new Map<number, () => void>();

  const clock: Clock = {
    now: timeline.clock.now,
    after: (delayMs, run) =>
      timeline.clock.after(delayMs, () => (state === 'alive' ? run() : void whenAlive().then(run))),
  };

  /** Of a process that is dead this never resolves. */
  async function whenAlive(): Promise<void> {
    while (state !== 'alive') await thawed.promise;
  }

  const gate: Gate = async (call, _args, make) => {
    timeline.stir();
    const number = calls.push(call);
    moments.get(number)?.();
    await whenAlive();
    if (options.isAway(call)) throw new LongshoreError('BACKEND', `${call} is away.`);
    try {
      return await make();
    } finally {
      timeline.stir();
      await whenAlive();
    }
  };

  const backend = behind(options.backend, gate);
  const events: LongshoreEvent[] = [];
  let works = false;

  const self = {
    name,
    clock,
    backend,
    calls,
    moments,
    events,
    runs,
    get app(): App {
      return app;
    },
    get client(): Client {
      return client;
    },
    get isDead() {
      return state === 'dead';
    },
    /** The body of a handler: something with an effect, that takes a second. */
    async work(
      label: string,
      ctx: Pick<HandlerContext, 'id' | 'attempt' | 'signal'>,
      ms = workMs,
    ): Promise<void> {
      const { id, attempt, signal } = ctx;
      const run: Run = {
        label,
        id,
        by: name,
        attempt,
        beganAt: timeline.elapsed(),
        endedAt: null,
        end: null,
      };
      runs.push(run);
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(ms, resolve);
      signal.addEventListener('abort', () => resolve());
      await promise;
      cancel();
      run.endedAt = timeline.elapsed();
      run.end = signal.aborted ? 'aborted' : failing.has(label) ? 'failed' : 'done';
      signal.throwIfAborted();
      if (failing.has(label)) throw new Error(`${label} fails`);
    },
    startWorker(): void {
      if (works) return;
      works = true;
      startWorker(app, { backend, leaseMs, concurrency: 3, testing: { rssBytes: () => 1 } });
    },
    freeze(): void {
      if (state === 'alive') state = 'frozen';
    },
    thaw(): void {
      if (state !== 'frozen') return;
      state = 'alive';
      thawed.resolve();
      thawed = Promise.withResolvers();
      timeline.stir();
    },
    kill(): void {
      state = 'dead';
    },
  };

  const app = createApp({
    ...options.app(self),
    signing,
    clock,
    random: () => 0.5,
    newId: options.newId,
    on: (event) => events.push(event),
  });
  const client = connect(app, backend);
  return self;
}
