/** The state of one instance of a function app: connections that are opened on first use, running jobs, the log of each call. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { within } from '../../../core/base/clock.ts';
import { config, type LongshoreError } from '../../../core/base/errors.ts';
import { backendError } from '../../../core/base/failure.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { type Collector, collectorOf } from '../../../core/features/metrics/collector.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import type { Run } from '../../../core/kernel/attempt/run.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { connectOne } from '../../../core/kernel/enqueue/connect.ts';
import { connectWithOthers, type OtherBackends } from '../../../core/routing/other-backends.ts';
import { type LogLevel, logLines } from '../../../core/serverless/log-lines.ts';
import type { Access } from '../service-bus/access.ts';
import {
  openServiceBusBackend,
  type ServiceBusBackend,
  type ServiceBusOptions,
} from '../service-bus/index.ts';
import { resolved } from '../settings.ts';
import type { HostContext } from './http.ts';

export interface RunningOptions extends OtherBackends {
  /** Names in the namespace, or settings like %NAME%, by the app's name of the queue. */
  readonly queues: Readonly<Record<string, string>>;
  readonly sessions: ServiceBusOptions['sessions'];
  readonly foreign: ServiceBusOptions['foreign'];
  readonly store: Partial<Stores> | (() => Partial<Stores>);
  readonly access: () => Access;
  readonly log: ((line: string) => void) | false | undefined;
  readonly drainMs: number;
}

export interface Started {
  readonly client: Client;
  readonly backend: ServiceBusBackend;
  /** Metrics of this instance; `null` if the store keeps none. */
  readonly numbers: Collector | null;
}

/** How long releasing the remaining jobs may take. */
const releaseMs = 1_500;

export type Running = ReturnType<typeof createRunning>;

export function createRunning(app: App, options: RunningOptions) {
  const { log, drainMs } = options;
  const calls = new AsyncLocalStorage<HostContext>();
  const jobs = new Set<Run>();
  /** By queue: the check that its dead letters can be sent. */
  const checks = new Map<string, Promise<void>>();
  /** Callbacks that end the pauses of failed calls. */
  const pauses = new Set<() => void>();
  let started: Started | null = null;
  let draining = false;

  function write(line: string, level: LogLevel): void {
    const context = calls.getStore();
    if (log) log(line);
    else if (context) context[level === 'debug' ? 'trace' : level](line.trimEnd());
    else process.stdout.write(line);
  }
  if (log !== false) app.events.on(logLines(write));

  /** Throws `CONFIG` if the app cannot start: no signing key, no store. The next call tries again. */
  function start(): Started {
    if (started) return started;
    app.keyRing();
    const store = typeof options.store === 'function' ? options.store() : options.store;
    const { clock } = app;
    const { keys } = store;
    const queues = resolved(options.queues);
    const { foreign, sessions, access } = options;
    if (sessions && sessions.length > 0 && !keys)
      throw config(
        `Expected a store with keys, because ${sessions.join(', ')} has sessions: without keys a function cannot notice that it lost its session. Give azure() a store, for example tableStore().`,
      );
    const backend = openServiceBusBackend(
      { clock, queues, ...(foreign && { foreign }), ...(sessions && { sessions }), ...(keys && { keys }) },
      access,
    );
    const client = options.otherBackends
      ? connectWithOthers(app, backend, store, options)
      : connectOne(app, backend, { store });
    const numbers = collectorOf(client, { source: app.newId(), rssBytes: process.memoryUsage.rss });
    started = { backend, client, numbers };
    return started;
  }

  /**
   * `start()` for a call of this queue. Also throws `CONFIG` if dead letters cannot be sent: a job that fails for good would run until Service
   * Bus moves its message, and its error would be lost. If the check gets no answer, jobs run, and the next call repeats it.
   */
  async function startFor(queue: string): Promise<Started> {
    const it = start();
    const check = checks.get(queue) ?? it.backend.checkFailed(queue);
    checks.set(queue, check);
    await check.catch((error: LongshoreError) => {
      checks.delete(queue);
      if (error.code === 'CONFIG') throw error;
    });
    return it;
  }

  /** Resolves when no job is running, at the latest after `ms`. */
  function idle(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const until = app.clock.now() + ms;
      const look = () => {
        if (jobs.size === 0 || app.clock.now() >= until) resolve();
        else app.clock.after(50, look);
      };
      look();
    });
  }

  return {
    jobs,
    start,
    startFor,
    /** Waits. Ends early if the host stops this instance. */
    async pause(ms: number): Promise<void> {
      if (draining) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = app.clock.after(ms, resolve);
      pauses.add(resolve);
      await promise;
      pauses.delete(resolve);
      cancel();
    },
    /** Runs `work`; its events go to the log of this call. */
    within: <T>(context: HostContext, work: () => Promise<T>): Promise<T> => calls.run(context, work),
    failed(during: string, error: unknown): void {
      const backend = 'servicebus';
      app.events.emit({ type: 'backend.failed', backend, during, error: backendError(during, error) });
    },
    /** Waits for running jobs, releases the remaining ones, and closes the connections. */
    async drain(): Promise<void> {
      draining = true;
      for (const end of pauses) end();
      for (const run of jobs) run.interrupt('shutdown');
      await idle(drainMs);
      for (const run of jobs) run.end('shutdown');
      const open = started;
      started = null;
      const flushing = open?.numbers?.flush() ?? Promise.resolve();
      await Promise.all([idle(releaseMs), within(app.clock, releaseMs, flushing, () => {})]);
      await open?.client.close();
    },
  };
}
