/** The slots of a worker: a fetched job waits for a slot, runs in it, and frees it as soon as its handler has ended. */

import { hostname } from 'node:os';
import { steadyNow } from '../../base/clock.ts';
import type { JobLease } from '../../contract/queue.ts';
import { forEach } from '../../kit/parallel.ts';
import type { AttemptPorts } from '../attempt/attempt.ts';
import { Run, steadyAheadMs } from '../attempt/run.ts';
import { isFailure } from '../attempt/verdict.ts';
import { attempt } from '../flow.ts';
import type { AckGroups } from './ack-groups.ts';
import { mayEndProcess, runningAlone } from './alone.ts';
import { createLanes, type Lane, type Room } from './lanes.ts';
import { type Asked, shareSlots } from './shares.ts';
import type { WorkerState } from './state.ts';

/**
 * Jobs begun in one turn of the event loop. Synchronous handlers could otherwise run the whole buffer in one turn and hold up timers,
 * renewals, signals and acks. With 250 the objects of a turn outlived the young generation: Redis and beanstalkd were 10 % slower,
 * and a worker was 3 to 5 MB larger.
 */
const mostPerTurn = 64;

export type Slots = ReturnType<typeof createSlots>;

/** @param wake ends the wait of the current fetch: another one is needed */
export function createSlots(state: WorkerState, acks: AckGroups, wake: () => void) {
  const { app, settings, client, running, ended, counts, numbers, bounds } = state;
  const { backend, concurrency, aheadMs } = settings;
  const { clock } = app;
  const lanes = createLanes(state);
  const shares = shareSlots(state);
  /** The lanes that the running fetch asks, and how many jobs of each; `null` = none runs. */
  let fetching: { readonly lanes: ReadonlySet<Lane>; readonly max: number } | null = null;
  const by = { worker: state.id, host: hostname() };
  const ports: AttemptPorts = { client, by, settler: backend, ack: acks.ack, handled };
  const alone = runningAlone({
    app,
    patienceMs: settings.leaseMs,
    changed() {
      pump();
      spaced();
    },
  });
  /** Slots that are kept for the answers of running refills. */
  let promised = 0;
  /** Jobs begun in this turn of the event loop. */
  let begun = 0;
  let onSpace: (() => void) | null = null;
  let stopTimer: (() => void) | null = null;
  let stopOpening: (() => void) | null = null;
  let releasing: Promise<unknown> = Promise.resolve();

  /** The lanes that need jobs and are not asked by the running fetch. */
  function open(isLow: boolean): Room[] {
    if (alone.active) return [];
    const rooms = lanes.rooms(isLow);
    return fetching === null ? rooms : rooms.filter(({ lane }) => !fetching!.lanes.has(lane));
  }

  /** The rooms that are left if the running fetch brings all jobs that it asks for. */
  function beside(rooms: readonly Room[]): readonly Room[] {
    if (fetching === null) return rooms;
    const { lanes: asked, max } = fetching;
    const pools = new Set([...asked].map(({ pool }) => pool));
    return rooms
      .map(({ lane, room }) => ({ lane, room: pools.has(lane.pool) ? room - max : room }))
      .filter(({ room }) => room > 0);
  }

  /** The next fetch; `null` = there is no room for more jobs. @param isLow only for lanes that hold few jobs ahead, so that fetches stay large */
  function ask(isLow: boolean): Asked | null {
    // With a limit, the running fetch may bring all jobs that are left.
    if (fetching !== null && (lanes.all.length === 1 || settings.maxJobs < Infinity)) return null;
    const mine = running.size + state.buffer.length + promised;
    const left = settings.maxJobs - state.settledJobs - ended.size - mine;
    const rooms = beside(open(isLow));
    watchOpening();
    if (left <= 0 || rooms.length === 0) return null;
    const asked = shares.ask(rooms, fetching === null);
    return asked.max <= left ? asked : { ...asked, max: left };
  }

  /** A job has ended. */
  function spaced(): void {
    onSpace?.();
    if (fetching !== null && lanes.all.length > 1 && open(true).length > 0) wake();
  }

  /** Asks the queues again that are left out because their limits are full. */
  function watchOpening(): void {
    stopOpening?.();
    stopOpening = null;
    const at = lanes.opensAt();
    if (at < Infinity && state.reason === null)
      stopOpening = clock.after(Math.max(1, at - steadyNow(clock)), () => {
        spaced();
        watchOpening();
      });
  }

  const busy = (): number => running.size + ended.size;

  /** @param askedAt when they were asked for, by the steady clock: they last for `leaseMs` from then at least, whatever the host's clock was set to */
  function hold(leases: readonly JobLease[], askedAt: number): void {
    const aheadMs = steadyAheadMs(clock);
    const now = steadyNow(clock);
    // Not with an iterator, which makes an object per lease: this function stays uncompiled for long, as it is called once per fetch.
    for (let i = 0; i < leases.length; i++) {
      const run = new Run(leases[i]!, aheadMs);
      run.since = now;
      run.expiresAt = Math.max(run.expiresAt, askedAt + settings.leaseMs);
      queueUp(run);
      if (run.lease.interrupted && !alone.active && mayEndProcess(app, run.lease)) alone.wait(run);
    }
    if (alone.active) spare();
    const isFull = state.buffer.length > concurrency - running.size;
    if (isFull && settings.queues.length > 1) state.buffer = shares.takeTurns(state.buffer);
  }

  /** Puts the job behind those of its priority. A job that has waited for half of its time is not overtaken any more. */
  function queueUp(run: Run): void {
    const { buffer } = state;
    const priority = priorityOf(run.lease);
    run.priority = priority;
    let at = buffer.length;
    while (at > 0 && buffer[at - 1]!.priority > priority && run.since - buffer[at - 1]!.since < aheadMs / 2)
      at--;
    if (at === buffer.length) buffer.push(run);
    else buffer.splice(at, 0, run);
  }

  /** Gives back all jobs that have not begun, except the one that must run alone. */
  function spare(): void {
    giveBack((run) => !alone.is(run));
  }

  function giveBack(isSpare: (run: Run) => boolean): void {
    const spared = state.buffer.filter(isSpare);
    if (spared.length === 0) return;
    state.buffer = state.buffer.filter((run) => !isSpare(run));
    releasing = Promise.all([releasing, release(spared.map(({ lease }) => lease))]);
  }

  /** Checks that the jobs in the buffer begin in time. */
  function watchBuffer(afterMs = aheadMs): void {
    if (stopTimer || state.buffer.length === 0) return;
    stopTimer = clock.after(afterMs, () => {
      stopTimer = null;
      if (state.reason !== null) return;
      const now = steadyNow(clock);
      // With a free slot they wait for the backend, which would not be quicker to take them back.
      if (!alone.active) giveBack((run) => lanes.isFull(run) && now - run.since >= aheadMs);
      const oldest = state.buffer.reduce((first, run) => Math.min(first, run.since), now);
      watchBuffer(Math.max(aheadMs - (now - oldest), aheadMs / 4));
    });
  }

  function pump(): void {
    // Unconfirmed acks at which no further job begins: the backend gives out leases, but does not confirm acks.
    const mostEnded = concurrency + Math.max(lanes.ahead(), concurrency);
    while (running.size < concurrency && ended.size < mostEnded && state.reason === null) {
      const at = lanes.firstFree(state.buffer);
      if (begun >= mostPerTurn || !alone.mayBegin(state.buffer[at], busy() > 0)) break;
      const run = at > 0 ? state.buffer.splice(at, 1)[0] : at === 0 ? state.buffer.shift() : undefined;
      if (!run) {
        acks.hurry();
        break;
      }
      const now = steadyNow(clock);
      if (!isInTime(run, now)) continue;
      if (begun++ === 0) setImmediate(endTurn);
      run.since = now;
      running.add(run);
      lanes.of(run).pool.running++;
      alone.begins(run);
      void work(run);
    }
    watchBuffer();
  }

  /** A process that was frozen may hold leases that have ended, or, if it does not renew them, that are too short for their jobs. */
  function isInTime(run: Run, now: number): boolean {
    if (now - run.since <= aheadMs) return true;
    const isLost = run.expiresAt <= now;
    if (!isLost && settings.renew) return true;
    alone.over(run);
    if (!isLost) releasing = Promise.all([releasing, release([run.lease])]);
    return false;
  }

  /** Continues a turn later, so that the acks of this turn are sent and incoming data is read first. */
  function endTurn(): void {
    begun = 0;
    setImmediate(pump);
  }

  function leave(run: Run): void {
    if (!running.has(run)) return;
    running.delete(run);
    lanes.of(run).pool.running--;
  }

  /** Frees the slot when the handler has ended: settling needs no slot. */
  function handled(run: Run): void {
    if (run.began) {
      lanes.attempted(run);
      bounds.ended(run.lease.queue, run.job);
    }
    leave(run);
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
    leave(run);
    ended.delete(run);
    alone.over(run);
    state.settledJobs++;
    pump();
    spaced();
    if (run.waitsFor !== null) watchOpening();
    if (settings.untilIdle && fetching !== null && busy() === 0) wake();
    if (state.settledJobs >= settings.maxJobs) state.stop(settings.once ? 'once' : 'max-jobs');
  }

  function release(leases: readonly JobLease[]): Promise<void> {
    return forEach(leases, async (lease) => {
      const settled = await backend.nack(lease, { delayMs: 0, countAttempt: false }).catch(() => false);
      if (settled) state.released++;
    });
  }

  return {
    ask,
    answered: shares.answered,
    busy,
    /** The worker holds no job. */
    isIdle: () => busy() === 0 && state.buffer.length === 0,
    hold,
    pump,
    release,
    fetched: lanes.fetched,
    /** Resolves when all jobs that were given back are released. */
    released: () => releasing,
    /** Whether all lanes of these queues have work, so that a fetch for them does not wait. */
    haveWork: (queues: readonly string[]): boolean =>
      lanes.all.length === 1 ? busy() > 0 : [...lanes.named(queues)].every(lanes.isRunning),
    /** Says what the running fetch asks for; `null` = none runs. */
    asking(asked: Asked | null): void {
      fetching = asked && { lanes: lanes.named(asked.queues), max: asked.max };
    },
    /** Keeps places free for leases that are on their way. Returns a function that ends this. */
    promise({ queues, max }: Asked): () => void {
      const asked = lanes.named(queues);
      const pools = new Set([...asked].map(({ pool }) => pool));
      const keep = (count: number) => {
        promised += count;
        for (const one of [...asked, ...pools]) one.promised += count;
      };
      keep(max);
      return () => keep(-max);
    },
    /** Sets the one listener that is called after each job has ended; `null` = none. */
    listen(listener: (() => void) | null): void {
      onSpace = listener;
    },
    /** Called when the lease of a run is lost. */
    lost: alone.over,
    stop(): void {
      alone.stop();
      stopTimer?.();
      stopOpening?.();
    },
  };
}

const beforePriority = ',"priority":';

/** Read from the text, before it is verified: it only decides which job of the buffer begins first. */
function priorityOf({ body }: JobLease): number {
  return body.charCodeAt(body.lastIndexOf(beforePriority) + beforePriority.length) - 48;
}
