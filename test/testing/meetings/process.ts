/** A process of the world: an app, a client and a worker, which can be frozen, killed or cut off from its queue. */

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

export type AppParts = Pick<AppOptions, 'jobs' | 'schedules' | 'queues' | 'use' | 'maxBodyBytes' | 'alerts'>;

/** What an event gives to each job that does not say it itself. */
export type EveryJob = Pick<JobDefinition<StandardSchema>, 'retention' | 'transaction'>;

/** What a process connects to: a backend, or several by name. */
export type Address =
  | QueueBackend
  | {
      readonly backends: Backends;
      /** The name of the one that the jobs belong to. */
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
  /** The store or the queue is away for this call. */
  isAway(call: string): boolean;
  parts(self: Process): AppParts;
  readonly store?: Partial<Stores>;
  readonly ticks?: boolean;
  /** Handlers run in a thread. */
  readonly isIsolated?: boolean;
  readonly everyJob: EveryJob;
}

export type Process = ReturnType<typeof createProcess>;

/** Work whose label begins with it fails, whatever happens. */
export const poison = 'x';

export const leaseMs = 30_000;
export const workMs = 1_000;
const tickMs = 5_000;
export const queue = 'work';

/** Echoes in which a fetch has looked, before it waits. */
const echoesOfLook = 8;

/** The same series for the same name. */
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
      const answering = make();
      // A fetch may wait for a job as long as it wants, but it looks at once.
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
    /** One per backend. */
    get clients(): readonly Client[] {
      return [...(client.backends?.values() ?? [client])];
    },
    /** That of the backend that the jobs belong to. */
    get home(): Client {
      return (!isOne && client.backends?.get(address.home)) || client;
    },
    isIsolated: options.isIsolated ?? false,
    everyJob: options.everyJob,
    /** What it sends is part of this transaction. */
    tx: undefined as SqlTransaction | undefined,
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
      // A thread takes time of ours to start, so there is one.
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

  /** What runs now does nothing any more, or not in time. */
  function lose(): void {
    for (const run of runs) if (run.by === name && run.end === null) run.lostAt ??= timeline.elapsed();
  }

  /** Around a handler in a thread, whose time is ours. */
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
