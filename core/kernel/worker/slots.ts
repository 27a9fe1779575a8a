/** The slots of a worker: a fetched job waits for a slot, runs in it, and frees it as soon as its handler has ended. */

import { hostname } from 'node:os';
import type { JobLease } from '../../contract/queue.ts';
import { forEach } from '../../kit/parallel.ts';
import type { AttemptPorts } from '../attempt/attempt.ts';
import { Run, steadyAheadMs } from '../attempt/run.ts';
import { isFailure } from '../attempt/verdict.ts';
import { attempt } from '../flow.ts';
import type { AckGroups } from './ack-groups.ts';
import { mayEndProcess, runningAlone } from './alone.ts';
import type { WorkerState } from './state.ts';

/**
 * Jobs begun in one turn of the event loop. Synchronous handlers could otherwise run the whole buffer in one turn and hold up timers,
 * renewals, signals and acks. With 250 the objects of a turn outlived the young generation: Redis and beanstalkd were 10 % slower,
 * and a worker was 3 to 5 MB larger.
 */
const mostPerTurn = 64;

export type Slots = ReturnType<typeof createSlots>;

/** @param idle called when the last job has ended, if the worker has `untilIdle` */
export function createSlots(state: WorkerState, acks: AckGroups, idle: () => void) {
  const { app, settings, client, running, ended, counts, numbers } = state;
  const { backend, concurrency } = settings;
  const { clock } = app;
  /** Unconfirmed acks at which no further job begins: the backend gives out leases, but does not confirm acks. */
  const mostEnded = concurrency + Math.max(settings.prefetch, concurrency);
  const by = { worker: state.id, host: hostname() };
  const ports: AttemptPorts = { client, by, settler: backend, ack: acks.ack, handled };
  const alone = runningAlone({
    app,
    patienceMs: settings.leaseMs,
    changed() {
      pump();
      onSpace?.();
    },
  });
  /** Slots that are kept for the answers of running refills. */
  let promised = 0;
  /** Jobs begun in this turn of the event loop. */
  let begun = 0;
  let onSpace: (() => void) | null = null;

  /** How many more jobs may be fetched. */
  function room(): number {
    if (alone.active) return 0;
    const mine = running.size + state.buffer.length + promised;
    return Math.min(
      concurrency + settings.prefetch - mine,
      settings.maxJobs - state.settledJobs - ended.size - mine,
    );
  }

  const busy = (): number => running.size + ended.size;

  function hold(leases: readonly JobLease[]): void {
    const aheadMs = steadyAheadMs(clock);
    // Not with an iterator, which makes an object per lease: this function stays uncompiled for long, as it is called once per fetch.
    for (let i = 0; i < leases.length; i++) {
      const run = new Run(leases[i]!, aheadMs);
      state.buffer.push(run);
      if (run.lease.interrupted && !alone.active && mayEndProcess(app, run.lease)) alone.wait(run);
    }
    if (alone.active) spare();
  }

  /** Gives back all jobs that have not begun, except the one that must run alone. */
  function spare(): void {
    const others = state.buffer.filter((run) => !alone.is(run));
    if (others.length === 0) return;
    state.buffer = state.buffer.filter((run) => alone.is(run));
    void release(others.map(({ lease }) => lease));
  }

  function pump(): void {
    while (running.size < concurrency && ended.size < mostEnded && state.reason === null) {
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

  /** Continues a turn later, so that the acks of this turn are sent and incoming data is read first. */
  function endTurn(): void {
    begun = 0;
    setImmediate(pump);
  }

  /** Frees the slot when the handler has ended: settling needs no slot. */
  function handled(run: Run): void {
    running.delete(run);
    ended.add(run);
    alone.over(run);
    const { maxMemoryBytes } = settings;
    if (maxMemoryBytes < Infinity && settings.rssBytes() > maxMemoryBytes) state.stop('max-memory');
    pump();
  }

  async function work(run: Run): Promise<void> {
    try {
      const startedAt = clock.now();
      const bytes = numbers?.sample(startedAt) ?? null;
      const result = await attempt(app, ports, run, startedAt);
      numbers?.count(run.lease.queue, result, bytes);
      if (result.settled) counts[result.outcome]++;
      if (result.settled && isFailure(result)) state.failures++;
      if (run.cause === 'shutdown' && result.outcome === 'requeued' && result.settled) state.released++;
    } catch (error) {
      // Nothing was settled: the lease runs out and the message comes back.
      state.failed('settling', error);
    }
    running.delete(run);
    ended.delete(run);
    alone.over(run);
    state.settledJobs++;
    pump();
    onSpace?.();
    if (settings.untilIdle && busy() === 0) idle();
    if (state.settledJobs >= settings.maxJobs) state.stop(settings.once ? 'once' : 'max-jobs');
  }

  function release(leases: readonly JobLease[]): Promise<void> {
    return forEach(leases, async (lease) => {
      const settled = await backend.nack(lease, { delayMs: 0, countAttempt: false }).catch(() => false);
      if (settled) state.released++;
    });
  }

  return {
    room,
    busy,
    hold,
    pump,
    release,
    /** Keeps `count` slots free for leases that are on their way. Returns a function that ends this. */
    promise(count: number): () => void {
      promised += count;
      return () => {
        promised -= count;
      };
    },
    /** Sets the one listener that is called after each job has ended; `null` = none. */
    listen(listener: (() => void) | null): void {
      onSpace = listener;
    },
    /** Called when the lease of a run is lost. */
    lost: alone.over,
    stop: alone.stop,
  };
}
