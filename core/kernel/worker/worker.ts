/**
 * The polling loop for any backend. A free slot fetches, it never waits for the slowest job of a batch; everything
 * that must go on while jobs run (renewal, reaping, cancels, heartbeats) is in maintenance.ts.
 */

import { once } from 'node:events';
import { constants, hostname } from 'node:os';
import { within } from '../../base/clock.ts';
import type { StopReason } from '../../base/events.ts';
import { backendError } from '../../base/failure.ts';
import type { Ack, JobLease } from '../../contract/queue.ts';
import { forEach } from '../../kit/parallel.ts';
import type { App } from '../app/app.ts';
import { refuseInsideIsolate } from '../app/isolation.ts';
import type { AttemptPorts } from '../attempt/attempt.ts';
import { hooksEnded } from '../attempt/failure-hooks.ts';
import { lastEndsWritten } from '../attempt/late-ends.ts';
import { createRun, type Run } from '../attempt/run.ts';
import { isFailure } from '../attempt/verdict.ts';
import type { Client } from '../enqueue/client.ts';
import { connectOne } from '../enqueue/connect.ts';
import { partsOf } from '../enqueue/parts.ts';
import { attempt } from '../flow.ts';
import { groupAcks } from './ack-groups.ts';
import { mayEndProcess, runningAlone } from './alone.ts';
import { reap } from './chores.ts';
import { startMaintenance } from './maintenance.ts';
import { settingsOf, type WorkerOptions, type WorkerSettings, type WorkerSummary } from './options.ts';
import { RunList } from './run-list.ts';
import type { CountAttempts, Worker, WorkerState } from './state.ts';

/** How long one fetch waits for work; a stop ends it early. */
const waitMs = 5_000;
/** After `drainMs`, how long an aborted handler has to come back by itself. */
const graceMs = 1_000;
/** A server that is back is noticed within this. */
const longestBackoffMs = 1_000;
/** A worker that ends by itself (`once`, `untilIdle`) gives up after so many failures in a row. */
const patience = 5;
const sameKeyPressMs = 250;
/**
 * Handlers that never wait could run the whole buffer in one turn of the event loop. Timers, renewals and signals would wait,
 * and so would the backend: the acks of a turn leave at its end. At 250 the objects of a turn outlived the young generation:
 * Redis and beanstalkd were a tenth slower, and a worker was 3 to 5 MB larger.
 */
const mostPerTurn = 64;

/** What has not come to its end is left to its lease. */
const leave = (): void => {};

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A worker of one backend. */
export function startOnly(app: App, options: WorkerOptions): Worker {
  refuseInsideIsolate('startWorker');
  app.keyRing(); // a missing key must stop the start, not the first job
  const { backend, store } = options;
  const client = connectOne(app, backend, store ? { store } : {});
  return startOne(app, settingsOf(app, options), client);
}

export function startOne(app: App, settings: WorkerSettings, client: Client): Worker {
  const { backend, concurrency, queues } = settings;
  const { ackAndFetch } = backend.hints ?? {};
  /** A backend that gives out leases but does not confirm acks must not be asked for more and more of them. */
  const mostEnded = concurrency + Math.max(settings.prefetch, concurrency);
  const { clock, events } = app;
  const acks = groupAcks(backend, {
    send: ackAndRefill,
    isIdle: () => state.buffer.length === 0,
    patienceMs: settings.leaseMs,
    failed: (error) => failed('settling', error),
    clock,
    random: app.random,
  });
  const alone = runningAlone({
    app,
    patienceMs: settings.leaseMs,
    changed() {
      pump();
      onSpace?.();
    },
  });
  const stopping = new AbortController();
  /** Ends the wait of the fetch under way. */
  let waking = new AbortController();
  let reason: StopReason | null = null;
  let hasStopped = false;
  let settledJobs = 0;
  let released = 0;
  let fetching = false;
  /** Slots that refills under way may fill. */
  let promised = 0;
  /** Jobs begun in this turn of the event loop. */
  let begun = 0;
  let onSpace: (() => void) | null = null;

  const id = app.newId();
  const state: WorkerState = {
    id,
    app,
    settings,
    client,
    startedAt: clock.now(),
    get draining() {
      return reason !== null;
    },
    buffer: [],
    running: new RunList(),
    ended: new RunList(),
    counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
    failures: 0,
    numbers: (app.installed.counter as CountAttempts)(client, { source: id, rssBytes: settings.rssBytes }),
    stop: (why) => void stop(why),
    lost: (run) => alone.over(run),
    failed,
  };
  const { running, ended, counts, numbers } = state;
  const by = { worker: state.id, host: hostname() };
  const ports: AttemptPorts = { client, by, settler: backend, ack: acks.ack, handled };

  /** How many more jobs may be fetched. */
  function room(): number {
    if (alone.active) return 0;
    const mine = running.size + state.buffer.length + promised;
    return Math.min(
      concurrency + settings.prefetch - mine,
      settings.maxJobs - settledJobs - ended.size - mine,
    );
  }

  const busy = (): number => running.size + ended.size;

  function hold(leases: readonly JobLease[]): void {
    // Not by an iterator, which makes an object per lease: this is called once per batch, and long not compiled in full.
    for (let i = 0; i < leases.length; i++) {
      const run = createRun(leases[i]!, clock);
      state.buffer.push(run);
      if (run.lease.interrupted && !alone.active && mayEndProcess(app, run.lease)) alone.wait(run);
    }
    if (alone.active) spare();
  }

  /** Gives back what has not begun, but for the job that is to run alone. */
  function spare(): void {
    const others = state.buffer.filter((run) => !alone.is(run));
    if (others.length === 0) return;
    state.buffer = state.buffer.filter((run) => alone.is(run));
    void release(others.map(({ lease }) => lease));
  }

  /** Where the queue can, the slots that are free are filled in the same step. */
  async function ackAndRefill(acks: readonly Ack[]): Promise<boolean[]> {
    const max = room();
    if (!ackAndFetch || fetching || reason !== null || max <= 0) return backend.ack(acks);
    promised += max;
    try {
      const { settled, leases } = await ackAndFetch(acks, { queues, max, leaseMs: settings.leaseMs });
      if (reason !== null) await release(leases);
      else {
        hold(leases);
        setImmediate(pump);
      }
      return settled;
    } finally {
      promised -= max;
    }
  }

  function pump(): void {
    while (running.size < concurrency && ended.size < mostEnded && reason === null) {
      if (begun >= mostPerTurn || !alone.mayBegin(state.buffer[0], busy() > 0)) return;
      const run = state.buffer.shift();
      if (!run) {
        acks.hurry();
        return;
      }
      if (begun++ === 0) setImmediate(endTurn);
      running.add(run);
      alone.begins(run);
      void work(run);
    }
  }

  /** The acks of this turn leave first, and what has arrived is read. */
  function endTurn(): void {
    begun = 0;
    setImmediate(pump);
  }

  /** The slot is free as soon as the handler has ended: settling needs none. */
  function handled(run: Run): void {
    running.delete(run);
    ended.add(run);
    alone.over(run);
    const { maxMemoryBytes } = settings;
    if (maxMemoryBytes < Infinity && settings.rssBytes() > maxMemoryBytes) state.stop('max-memory');
    pump();
  }

  function failed(during: string, error: unknown): void {
    // The backend may be closed by now. Only what becomes of a job that has run still matters to people.
    if (hasStopped && during !== 'settling') return;
    const { name } = backend;
    events.emit({ type: 'backend.failed', backend: name, during, error: backendError(during, error) });
  }

  async function work(run: Run): Promise<void> {
    try {
      const bytes = numbers?.sample() ?? null;
      const result = await attempt(app, ports, run);
      numbers?.count(run.lease.queue, result, bytes);
      if (result.settled) counts[result.outcome]++;
      if (result.settled && isFailure(result)) state.failures++;
      if (run.cause === 'shutdown' && result.outcome === 'requeued' && result.settled) released++;
    } catch (error) {
      // Nothing was settled: the lease runs out and the message comes back.
      failed('settling', error);
    }
    running.delete(run);
    ended.delete(run);
    alone.over(run);
    settledJobs++;
    pump();
    onSpace?.();
    if (settings.untilIdle && busy() === 0) waking.abort(); // nothing to wait for any more
    if (settledJobs >= settings.maxJobs) state.stop(settings.once ? 'once' : 'max-jobs');
  }

  /** Ends when the worker stops. */
  async function feed(): Promise<void> {
    let failures = 0;
    let failedAt = 0;
    while (reason === null) {
      // With slots free fetch at once; to fill the buffer wait until half of it is empty, so that fetches stay large.
      // Acks under way bring the next leases with them.
      const { length: ahead } = state.buffer;
      const refilled = ackAndFetch !== undefined && acks.busy;
      if (room() <= 0 || refilled || (ahead > 0 && ahead * 2 > settings.prefetch)) {
        await space();
        continue;
      }
      try {
        const onePass = settings.once || (settings.untilIdle && busy() === 0);
        if (waking.signal.aborted) waking = new AbortController();
        fetching = true;
        const leases = await backend.fetch({
          queues,
          max: room(),
          leaseMs: settings.leaseMs,
          // After a failure it does not wait, so that `backend.recovered` comes at once and not with the next job.
          waitMs: onePass || failures > 0 ? 0 : waitMs,
          signal: waking.signal,
        });
        // The job of a worker that died is work too, and nobody else may be there to take it back.
        const isOver = onePass && leases.length === 0 && (await reap({ client, id, queues })) === 0;
        if (failures > 0) {
          events.emit({ type: 'backend.recovered', backend: backend.name, afterMs: clock.now() - failedAt });
          failures = 0;
        }
        hold(leases);
        pump();
        if (isOver) state.stop(settings.once ? 'once' : 'idle');
      } catch (error) {
        if (failures++ === 0) failedAt = clock.now();
        failed('fetching', error);
        if (failures === patience && (settings.once || settings.untilIdle)) state.stop('backend-failed');
        const backoffMs = Math.min(longestBackoffMs, 100 * 2 ** Math.min(failures - 1, 10));
        await sleep(backoffMs * (0.5 + app.random() / 2));
      } finally {
        fetching = false;
      }
      await nextTurn(); // timers, renewals and signals must get their turn
    }
  }

  /** Resolves when what `arm` has set up calls `wake`, or when the worker stops. `arm` answers how to undo it. */
  function wait(arm: (wake: () => void) => () => void): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        disarm();
        stopping.signal.removeEventListener('abort', wake);
        resolve();
      };
      const disarm = arm(wake);
      stopping.signal.addEventListener('abort', wake);
    });
  }

  const sleep = (ms: number) => wait((wake) => clock.after(ms, wake));

  /** Resolves one turn after a job has ended, so that jobs that end together are replaced by one fetch. */
  const space = () =>
    wait((wake) => {
      onSpace = wake;
      return () => {
        onSpace = null;
      };
    }).then(nextTurn);

  async function stop(why: StopReason): Promise<WorkerSummary> {
    if (reason !== null) return done;
    reason = why;
    events.emit({ type: 'worker.draining', worker: state.id, reason: why, running: running.size });
    stopping.abort();
    waking.abort();
    return done;
  }

  /** Takes `drainMs` and two times `graceMs` at most, also when nothing answers. */
  async function drain(): Promise<WorkerSummary> {
    const { drainMs } = settings;
    const endAt = clock.now() + drainMs + 2 * graceMs;
    const releasing = releaseBuffer();
    await Promise.all([allEnded(drainMs), within(clock, drainMs, releasing, leave)]);
    for (const run of running) run.interrupt('shutdown');
    await allEnded(graceMs);
    for (const run of running) run.end('shutdown');
    await allEnded(graceMs); // only a backend that does not answer can use this up
    acks.stop();
    alone.stop();
    maintenance.stop();
    const last = [
      releasing,
      ...partsOf(app).closing.map((close) => close(client)),
      client.stores.workers.remove(state.id),
      maintenance.resign(),
      numbers?.flush(),
      hooksEnded(app),
      lastEndsWritten(client),
    ];
    await within<unknown>(clock, endAt - clock.now(), Promise.allSettled(last), leave);
    // After a signal the listeners stay: its second copy may arrive when the drain is already over.
    if (signalledAt === null) for (const signal of settings.signals) process.off(signal, onSignal);
    hasStopped = true;
    const summary = { reason: reason!, counts, released };
    events.emit({ type: 'worker.stopped', worker: state.id, ...summary });
    return { ...summary, durationMs: clock.now() - state.startedAt };
  }

  /** Releases what was fetched and has not begun. */
  async function releaseBuffer(): Promise<void> {
    await feeding;
    await release(state.buffer.map(({ lease }) => lease));
    state.buffer = [];
  }

  function release(leases: readonly JobLease[]): Promise<void> {
    return forEach(leases, async (lease) => {
      const settled = await backend.nack(lease, { delayMs: 0, countAttempt: false }).catch(() => false);
      if (settled) released++;
    });
  }

  async function allEnded(withinMs: number): Promise<void> {
    if (busy() === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(withinMs, resolve);
      onSpace = () => {
        if (busy() > 0) return;
        cancel();
        resolve();
      };
    });
    onSpace = null;
  }

  let signalledAt: number | null = null;
  /** The first signal drains, a second one ends the process. npm forwards Ctrl-C, so one key press can come twice. */
  const onSignal = (signal: NodeJS.Signals) => {
    if (signalledAt === null) {
      signalledAt = clock.now();
      state.stop('signal');
    } else if (clock.now() - signalledAt > sameKeyPressMs) {
      for (const name of settings.signals) process.off(name, onSignal);
      // The kernel ends the first process of a container at no signal that it does not handle.
      if (process.pid === 1) process.exit(128 + constants.signals[signal]);
      process.kill(process.pid, signal);
    }
  };
  for (const signal of settings.signals) process.on(signal, onSignal);

  events.emit({ type: 'worker.started', worker: state.id, backend: backend.name, queues, concurrency });
  const maintenance = startMaintenance(state);
  const feeding = feed();
  const done = once(stopping.signal, 'abort').then(drain);
  return { id: state.id, running: () => running.size, stop: (why = 'stopped') => stop(why), done };
}
