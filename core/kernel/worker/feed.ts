/** Fetches jobs for the free slots of a worker, until it stops. */

import { type Clock, sleep, steadyNow } from '../../base/clock.ts';
import type { Ack } from '../../contract/queue.ts';
import type { AckGroups } from './ack-groups.ts';
import { reap } from './chores.ts';
import type { Slots } from './slots.ts';
import type { WorkerState } from './state.ts';

/** How long one fetch waits for work; a stop ends it early. */
const waitMs = 5_000;
/** The longest pause after failed fetches: a server that is back is noticed within this time. */
const longestBackoffMs = 1_000;
/** A worker with `once` or `untilIdle` gives up after this number of failures in a row. */
const patience = 5;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Starts a clock for a call. The result says how long the worker waited for the answer, ms. An answer that comes in the same turn of the
 * event loop, as from SQLite, took work and no waiting: jobs held ahead cannot hide it.
 */
function startWait(clock: Clock): () => number {
  const startedAt = steadyNow(clock);
  let waited = false;
  setImmediate(() => {
    waited = true;
  });
  return () => (waited ? steadyNow(clock) - startedAt : 0);
}

/** @param stopping aborts when the worker stops */
export function createFeed(state: WorkerState, slots: Slots, acks: AckGroups, stopping: AbortSignal) {
  const { app, settings, client } = state;
  const { backend } = settings;
  const { ackAndFetch, freeWaits = false } = backend.hints ?? {};
  const { clock, events } = app;
  /** Ends the wait of the current fetch. */
  let waking = new AbortController();

  /** Acks, and also fetches jobs for the free slots in the same call if the queue can. */
  async function refill(ended: readonly Ack[]): Promise<boolean[]> {
    const asked = !ackAndFetch || state.reason !== null ? null : slots.ask(false);
    if (!ackAndFetch || !asked) return backend.ack(ended);
    const { queues, max } = asked;
    const kept = slots.promise(asked);
    const askedAt = steadyNow(clock);
    const waitedMs = startWait(clock);
    try {
      const { settled, leases } = await ackAndFetch(ended, { queues, max, leaseMs: settings.leaseMs });
      slots.fetched(waitedMs(), leases.length, max);
      slots.answered(asked, leases);
      if (state.reason !== null) await slots.release(leases);
      else {
        slots.hold(leases, askedAt);
        setImmediate(slots.pump);
      }
      return settled;
    } finally {
      kept();
    }
  }

  /** Resolves when the worker stops. */
  async function run(): Promise<void> {
    let failures = 0;
    let failedAt = 0;
    let wasFull = false;
    /** No job has ended since the queues with room were found empty. */
    let isQuiet = false;
    while (state.reason === null) {
      // With free slots fetch at once. To fill only the buffer, wait until half of it is empty, so that fetches stay large.
      // If acks are being sent, they bring the next leases with them.
      const asked = slots.ask(true);
      const refilled = ackAndFetch !== undefined && acks.busy;
      if (!asked || refilled) {
        if (!asked && settings.untilIdle && slots.isIdle()) state.stop('idle');
        else await space();
        continue;
      }
      const { queues, max, isOpen, isWhole, emptyForMs } = asked;
      // Others are busy and need a fetch soon, and to end a wait may cost a connection.
      const isPart = isOpen && !isWhole && !freeWaits;
      if (isPart && !isQuiet && emptyForMs > 0) {
        isQuiet = await space(emptyForMs);
        continue;
      }
      try {
        const onePass = settings.once || (settings.untilIdle && slots.busy() === 0);
        if (waking.signal.aborted) waking = new AbortController();
        slots.asking(asked);
        const askedAt = steadyNow(clock);
        const waitedMs = startWait(clock);
        const hadWork = (isWhole && wasFull) || slots.haveWork(queues);
        const leases = await backend.fetch({
          queues,
          max,
          leaseMs: settings.leaseMs,
          // No wait after a failure, so that `backend.recovered` comes at once and not with the next job.
          waitMs: onePass || !isOpen || (isPart && !isQuiet) || failures > 0 ? 0 : waitMs,
          signal: waking.signal,
        });
        // Otherwise it may have waited for a job.
        if (hadWork) slots.fetched(waitedMs(), leases.length, max);
        slots.answered(asked, leases);
        if (isWhole) wasFull = leases.length === max;
        // Jobs of a dead worker count as work, and there may be no other worker to reap them.
        // Queues without room for a job of an idle worker are left out, because their limits are full.
        const isEmpty = onePass && (isWhole || (isOpen && slots.isIdle())) && leases.length === 0;
        const isOver = isEmpty && (await reap({ client, id: state.id, queues })) === 0;
        if (failures > 0) {
          events.emit({ type: 'backend.recovered', backend: backend.name, afterMs: clock.now() - failedAt });
          failures = 0;
        }
        slots.hold(leases, askedAt);
        slots.pump();
        if (isOver) state.stop(settings.once ? 'once' : 'idle');
      } catch (error) {
        if (failures++ === 0) failedAt = clock.now();
        state.failed('fetching', error);
        if (failures === patience && (settings.once || settings.untilIdle)) state.stop('backend-failed');
        const backoffMs = Math.min(longestBackoffMs, 100 * 2 ** Math.min(failures - 1, 10));
        await sleep(clock, backoffMs * (0.5 + app.random() / 2), stopping);
      } finally {
        slots.asking(null);
        isQuiet = false;
      }
      await nextTurn(); // timers, renewals and signals must get their turn
    }
  }

  /**
   * Resolves one turn after a job has ended, so that one fetch replaces all jobs of that turn. Also resolves when the worker stops, and after
   * `withinMs` with true.
   */
  const space = (withinMs?: number) =>
    new Promise<boolean>((resolve) => {
      const end = (isLate: boolean) => {
        slots.listen(null); // at once, because a drain may listen next
        stopping.removeEventListener('abort', wake);
        cancel();
        resolve(isLate);
      };
      const wake = () => end(false);
      const cancel = withinMs === undefined ? () => {} : clock.after(withinMs, () => end(true));
      slots.listen(wake);
      stopping.addEventListener('abort', wake);
    }).then(async (isLate) => {
      await nextTurn();
      return isLate;
    });

  return { run, refill, wake: () => waking.abort() };
}
