/** A process of the world: an app, a client and a worker. It can be frozen, killed or cut off from its queue. */

import type { Clock } from '../../../core/base/clock.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { QueueBackend, SqlTransaction } from '../../../core/contract/queue.ts';
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
import type { AppOptions } from '../../../core/kernel/app/app.ts';
import type { JobDefinition } from '../../../core/kernel/app/job.ts';
import type { StandardSchema } from '../../../core/kernel/app/schema.ts';
import type { Backends } from '../../../core/kernel/enqueue/backends.ts';
import { behind, type Gate } from './calls.ts';
import type { Timeline } from './timeline.ts';

export const signing = keyRing([{ kid: 'meetings', secret: new Uint8Array(32).fill(7) }]);

/** One run of a handler, from the view of the handler. */
export interface Run {
  /** Name of the piece of work, which is in the payload of its job. */
  readonly label: string;
  readonly id: string;
  readonly by: string;
  readonly attempt: number;
  readonly beganAt: number;
  /** The same time by the clock of its host. */
  readonly at: number;
  endedAt: number | null;
  /** When its process was stopped or killed during the run. */
  lostAt: number | null;
  readonly work: Work;
  readonly tenantId: string | undefined;
  /** `null` = it is running, or its process was killed. */
  end: 'done' | 'failed' | 'aborted' | null;
}

/** The payload of a job. */
export interface Work {
  readonly label: string;
  /** Note of a change. */
  readonly note?: string;
  /** Makes the payload large. */
  readonly filling?: string;
}

export type AppParts = Pick<AppOptions, 'jobs' | 'schedules' | 'queues' | 'use' | 'maxBodyBytes' | 'alerts'>;

/** Options that an event sets for each job that does not set them itself. */
export type EveryJob = Pick<JobDefinition<StandardSchema>, 'retention' | 'transaction'>;

/** The backend of a process, or several by name. */
export type Address =
  | QueueBackend
  | {
      readonly backends: Backends;
      /** Name of the backend of the jobs. */
      readonly home: string;
      readonly failover?: Readonly<Record<string, string>>;
    };

export interface ProcessOptions {
  readonly name: string;
  readonly timeline: Timeline;
  readonly address: Address;
  readonly runs: Run[];
  /** Labels whose handlers throw. */
  readonly failing: ReadonlySet<string>;
  newId(): string;
  /** Whether the store or the queue is down for this call. */
  isAway(call: string): boolean;
  parts(self: Process): AppParts;
  readonly store?: Partial<Stores>;
  readonly ticks?: boolean;
  /** Handlers run in a thread. */
  readonly isIsolated?: boolean;
  readonly everyJob: EveryJob;
}

export type Process = ReturnType<typeof createProcess>;

/** Work whose label begins with this always fails. */
export const poison = 'x';

export const leaseMs = 30_000;
export const workMs = 1_000;
const tickMs = 5_000;
export const queue = 'work';

/** After this many echoes a fetch has checked for jobs and is waiting. */
const echoesOfLook = 8;

/** Random numbers, the same series for the same name. */
function chance(name: string): () => number {
  let state = 0;
  for (const character of name) state = Math.imul(state ^ character.codePointAt(0)!, 0x01000193);
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

export function createProcess(options: ProcessOptions) {
  const { name, timeline, runs, failing } = options;
  let state: 'alive' | 'frozen' | 'dead' = 'alive';
  let thawed = Promise.withResolvers<void>();
  const calls: string[] = [];
  /** Actions to run before the call of this number. */
  const moments = new Map<number, () => void>();
  /** Calls that are made twice, like after a connection lost the first answer. */
  const twice = new Set<string>();

  const clock: Clock = {
    now: timeline.clock.now,
    after: (delayMs, run) =>
      timeline.clock.after(delayMs, () => (state === 'alive' ? run() : void whenAlive().then(run))),
  };

  /** Never resolves if the process is dead. */
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
      const answering = make();
      // A fetch may wait for a job for long, but it checks for jobs at once.
      if (timeline.hasServers) {
        const echoes = call.endsWith('fetch') ? echoesOfLook : undefined;
        void timeline.during(answering, echoes).catch(() => {});
      }
      const answer = await answering;
      if (twice.has(call)) await make();
      return answer;
    } finally {
      timeline.stir();
      await whenAlive();
    }
  };

  const { address } = options;
  const isOne = !('backends' in address);
  const gateOf =
    (one: string): Gate =>
    (call, ...rest) =>
      gate(`${one}/${call}`, ...rest);
  const backends = isOne
    ? { default: behind(address, gate) }
    : (Object.fromEntries(
        Object.entries(address.backends).map(([one, at]) => [one, at && behind(at, gateOf(one))]),
      ) as unknown as Backends);
  const events: LongshoreEvent[] = [];
  let works = false;

  const self = {
    name,
    clock,
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
    /** One client per backend. */
    get clients(): readonly Client[] {
      return [...(client.backends?.values() ?? [client])];
    },
    /** The client of the backend of the jobs. */
    get home(): Client {
      return (!isOne && client.backends?.get(address.home)) || client;
    },
    isIsolated: options.isIsolated ?? false,
    everyJob: options.everyJob,
    /** Transaction for everything that the process sends. */
    tx: undefined as SqlTransaction | undefined,
    get isDead() {
      return state === 'dead';
    },
    elapsed: timeline.elapsed,
    /** The body of a handler: records an effect and takes a second. */
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
      // Only one thread, because a thread takes real time to start.
      const rest = { leaseMs, concurrency: self.isIsolated ? 1 : 3, testing: { rssBytes: () => 1 } };
      if (isOne) startWorker(app, { ...rest, backend: backends.default!, store });
      else void startWorker(app, { ...rest, ...routing, backend: backends });
      if (options.ticks) tickNow();
    },
    startTicking: () => tickNow(),
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

  /** Marks the current runs as lost: they do nothing more, or not in time. */
  function lose(): void {
    for (const run of runs) if (run.by === name && run.end === null) run.lostAt ??= timeline.elapsed();
  }

  /** Wraps a handler in a thread, which takes real time. */
  async function outside(ctx: HandlerContext, next: () => Promise<unknown>): Promise<void> {
    if (!app.jobs.get(ctx.job)?.isolation) return void (await next());
    await self.work((await timeline.during(next())) as Work, ctx);
  }

  function tickNow(): void {
    void tick(app, client).then(
      () => clock.after(tickMs, tickNow),
      () => clock.after(tickMs, tickNow),
    );
  }

  const parts = options.parts(self);
  const app = createApp({
    ...parts,
    ...(!isOne && { queues: { [queue]: { ...parts.queues?.[queue], backend: address.home } } }),
    ...(self.isIsolated && { use: [outside] }),
    signing,
    clock,
    random: chance(name),
    newId: options.newId,
    on: (event) => events.push(event),
  });
  const { store = {} } = options;
  const routing = isOne
    ? {}
    : {
        ...(address.failover && { failover: address.failover }),
        store: Object.fromEntries(
          Object.keys(backends).flatMap((one) => (backends[one] ? [[one, store]] : [])),
        ),
      };
  const client = isOne ? connect(app, backends.default!, { store }) : connect(app, backends, routing);
  return self;
}
