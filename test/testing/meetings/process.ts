/** A process of the world: an app, a client and a worker, which can be frozen, killed or cut off from its queue. */

import type { AppOptions } from '../../../core/app/app.ts';
import type { Clock } from '../../../core/base/clock.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import {
  type App,
  type Client,
  connect,
  createApp,
  type HandlerContext,
  keyRing,
  PermanentError,
  startWorker,
  tick,
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
  /** The same by the clock of its host. */
  readonly at: number;
  endedAt: number | null;
  /** When its process was stopped or killed while it was at work. */
  lostAt: number | null;
  readonly work: Work;
  readonly tenantId: string | undefined;
  /** `null` = it is at work, or its process was killed. */
  end: 'done' | 'failed' | 'aborted' | null;
}

/** The payload of a job. */
export interface Work {
  readonly label: string;
  /** Of whoever has changed it. */
  readonly note?: string;
  /** Makes it large. */
  readonly filling?: string;
}

export type AppParts = Pick<AppOptions, 'jobs' | 'schedules' | 'queues' | 'use' | 'maxBodyBytes'>;

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
  parts(self: Process): AppParts;
  readonly store?: Partial<Stores>;
  readonly ticks?: boolean;
}

export type Process = ReturnType<typeof createProcess>;

/** Work whose label begins with it fails, whatever happens. */
export const poison = 'x';

export const leaseMs = 30_000;
export const workMs = 1_000;
const tickMs = 5_000;

export function createProcess(options: ProcessOptions) {
  const { name, timeline, runs, failing } = options;
  let state: 'alive' | 'frozen' | 'dead' = 'alive';
  let thawed = Promise.withResolvers<void>();
  const calls: string[] = [];
  /** Before the call of this number. */
  const moments = new Map<number, () => void>();
  /** Calls that are made twice, as by a connection that lost the first answer. */
  const twice = new Set<string>();

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
      const answer = await make();
      if (twice.has(call)) await make();
      return answer;
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
    twice,
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
    elapsed: timeline.elapsed,
    /** The body of a handler: something with an effect, that takes a second. */
    async work(work: Work, ctx: HandlerContext, ms = workMs): Promise<void> {
      const { label } = work;
      const { id, attempt, signal } = ctx;
      const { tenantId } = ctx.context;
      const run: Run = {
        ...{ label, id, by: name, attempt, work, tenantId, beganAt: timeline.elapsed() },
        at: clock.now(),
        ...{ endedAt: null, lostAt: null, end: null },
      };
      runs.push(run);
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(ms, resolve);
      signal.addEventListener('abort', () => resolve());
      await promise;
      cancel();
      await whenAlive();
      const fails = failing.has(label) || label.startsWith(poison);
      run.endedAt = timeline.elapsed();
      run.end = signal.aborted ? 'aborted' : fails ? 'failed' : 'done';
      signal.throwIfAborted();
      if (label.startsWith(poison)) throw new PermanentError(`${label} is poison`);
      if (fails) throw new Error(`${label} fails`);
    },
    startWorker(): void {
      if (works) return;
      works = true;
      startWorker(app, { backend, store, leaseMs, concurrency: 3, testing: { rssBytes: () => 1 } });
      if (options.ticks) tickNow();
    },
    freeze(): void {
      if (state !== 'alive') return;
      state = 'frozen';
      lose();
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
      lose();
    },
  };

  /** What runs now does nothing any more, or not in time. */
  function lose(): void {
    for (const run of runs) if (run.by === name && run.end === null) run.lostAt ??= timeline.elapsed();
  }

  function tickNow(): void {
    void tick(app, client).then(
      () => clock.after(tickMs, tickNow),
      () => clock.after(tickMs, tickNow),
    );
  }

  const app = createApp({
    ...options.parts(self),
    signing,
    clock,
    random: () => 0.5,
    newId: options.newId,
    on: (event) => events.push(event),
  });
  const { store = {} } = options;
  const client = connect(app, backend, { store });
  return self;
}
