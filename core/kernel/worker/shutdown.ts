/** How a worker ends: it drains after a signal or a call, within a time that nothing can make longer. */

import { constants } from 'node:os';
import { within } from '../../base/clock.ts';
import { hooksEnded } from '../attempt/failure-hooks.ts';
import { lastEndsWritten } from '../attempt/late-ends.ts';
import { partsOf } from '../enqueue/parts.ts';
import type { AckGroups } from './ack-groups.ts';
import type { startMaintenance } from './maintenance.ts';
import type { WorkerSummary } from './options.ts';
import type { Slots } from './slots.ts';
import type { WorkerState } from './state.ts';

/** After `drainMs`, how long an aborted handler has to come back by itself. */
const graceMs = 1_000;
const sameKeyPressMs = 250;

/** What has not come to its end is left to its lease. */
const leave = (): void => {};

export interface Parts {
  readonly slots: Slots;
  readonly acks: AckGroups;
  readonly maintenance: ReturnType<typeof startMaintenance>;
  /** Resolves when nothing more is fetched. */
  readonly feeding: Promise<void>;
  readonly signals: { end(): void };
}

/** Takes `drainMs` and two times `graceMs` at most, also when nothing answers. */
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
  await allEnded(graceMs); // only a backend that does not answer can use this up
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

  /** Releases what was fetched and has not begun. */
  async function releaseBuffer(): Promise<void> {
    await feeding;
    await slots.release(state.buffer.map(({ lease }) => lease));
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

/** The first signal drains, a second one ends the process. npm forwards Ctrl-C, so one key press can come twice. */
export function drainOnSignals({ app, settings, stop }: WorkerState): { end(): void } {
  const { clock } = app;
  const { signals } = settings;
  let signalledAt: number | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    if (signalledAt === null) {
      signalledAt = clock.now();
      stop('signal');
    } else if (clock.now() - signalledAt > sameKeyPressMs) {
      for (const name of signals) process.off(name, onSignal);
      // The kernel ends the first process of a container at no signal that it does not handle.
      if (process.pid === 1) process.exit(128 + constants.signals[signal]);
      process.kill(process.pid, signal);
    }
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    /** After a signal the listeners stay: its second copy may arrive when the drain is already over. */
    end() {
      if (signalledAt === null) for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
