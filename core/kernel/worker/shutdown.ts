/** Stops a worker: drains it after a signal or a call, within a fixed time. */

import { constants } from 'node:os';
import { within } from '../../base/clock.ts';
import { signalCounter } from '../../base/signals.ts';
import { hooksEnded } from '../attempt/failure-hooks.ts';
import { lastEndsWritten } from '../attempt/late-ends.ts';
import { partsOf } from '../enqueue/parts.ts';
import type { AckGroups } from './ack-groups.ts';
import type { startMaintenance } from './maintenance.ts';
import type { WorkerSummary } from './options.ts';
import type { Slots } from './slots.ts';
import type { WorkerState } from './state.ts';

/** How long an aborted handler may take to return, after `drainMs`. */
const graceMs = 1_000;

/** Jobs that have not ended by then come back when their lease ends. */
const leave = (): void => {};

export interface Parts {
  readonly slots: Slots;
  readonly acks: AckGroups;
  readonly maintenance: ReturnType<typeof startMaintenance>;
  /** Resolves when the worker no longer fetches. */
  readonly feeding: Promise<void>;
  readonly signals: { end(): void };
}

/** Takes at most `drainMs` plus twice `graceMs`, even if the backend does not answer. */
export async function drain(state: WorkerState, parts: Parts): Promise<WorkerSummary> {
  const { app, client, settings, running, counts } = state;
  const { slots, acks, maintenance, feeding, signals } = parts;
  const { clock, events } = app;
  const { drainMs } = settings;
  const endAt = clock.now() + drainMs + 2 * graceMs;
  const releasing = releaseBuffer();
  await Promise.all([allEnded(drainMs), within(clock, drainMs, releasing, leave)]);
  for (const run of running) run.interrupt('shutdown');
  await allEnded(graceMs);
  for (const run of running) run.end('shutdown');
  await allEnded(graceMs); // takes the full time only if the backend does not answer
  acks.stop();
  slots.stop();
  maintenance.stop();
  const last = [
    releasing,
    ...partsOf(app).closing.map((close) => close(client)),
    client.stores.workers.remove(state.id),
    maintenance.resign(),
    state.numbers?.flush(),
    hooksEnded(app),
    lastEndsWritten(client),
  ];
  await within<unknown>(clock, endAt - clock.now(), Promise.allSettled(last), leave);
  signals.end();
  state.hasStopped = true;
  const summary = { reason: state.reason!, counts, released: state.released };
  events.emit({ type: 'worker.stopped', worker: state.id, ...summary });
  return { ...summary, durationMs: clock.now() - state.startedAt };

  /** Releases fetched jobs that have not begun. */
  async function releaseBuffer(): Promise<void> {
    await feeding;
    await Promise.all([slots.release(state.buffer.map(({ lease }) => lease)), slots.released()]);
    state.buffer = [];
  }

  async function allEnded(withinMs: number): Promise<void> {
    if (slots.busy() === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(withinMs, resolve);
      slots.listen(() => {
        if (slots.busy() > 0) return;
        cancel();
        resolve();
      });
    });
    slots.listen(null);
  }
}

/** The first signal drains, the second one ends the process. */
export function drainOnSignals({ app, settings, stop }: WorkerState): { end(): void } {
  const { signals } = settings;
  const count = signalCounter(app.clock);
  let isSignalled = false;
  const onSignal = (signal: NodeJS.Signals) => {
    isSignalled = true;
    const which = count();
    if (which === 'first') stop('signal');
    else if (which === 'second') {
      for (const name of signals) process.off(name, onSignal);
      // Linux does not end process 1 of a container on a signal without a handler.
      if (process.pid === 1) process.exit(128 + constants.signals[signal]);
      process.kill(process.pid, signal);
    }
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    /** After a signal the listeners stay, because its second copy may arrive after the drain. */
    end() {
      if (!isSignalled) for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
