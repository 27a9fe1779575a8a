/**
 * `longshore work --processes`: runs several workers as child processes, replaces those that end, and drains all at a signal. The parent
 * itself loads no code of the app.
 */

import { constants } from 'node:os';
import { systemClock } from '../../core/base/clock.ts';
import type { StopReason } from '../../core/base/events.ts';
import { signalCounter } from '../../core/base/signals.ts';
import type { WorkerSummary } from '../../core/kernel/worker/options.ts';
import { CliError } from '../cli/errors.ts';
import type { LocalMetricsOptions } from '../prometheus/serve.ts';
import type { ServeOptions } from '../serve.ts';
import { watchParent } from '../waiting.ts';
import { type MemberCalls, type MemberSummary, memberVariable, type ParentCalls } from './calls.ts';
import { type Child, startChild } from './processes.ts';
import type { Sums } from './sums.ts';

export interface FleetOptions {
  readonly processes: number;
  /** A process whose worker has stopped is not replaced. */
  readonly untilIdle: boolean;
  /** All processes drain at these signals. */
  readonly signals: readonly NodeJS.Signals[];
  /** Serves the sums of all processes. */
  readonly metrics: (LocalMetricsOptions & Pick<ServeOptions, 'port'>) | null;
  /** Prints a line. */
  note(text: string): void;
}

export interface FleetSummary extends Omit<MemberSummary, 'numbers'> {
  readonly processes: number;
  /** How many processes were replaced, for any reason. */
  readonly restarts: number;
  /** The exit code of a process that could not run its worker; `null` = none. */
  readonly failedWith: number | null;
}

interface Seat {
  readonly number: number;
  child: Child<MemberCalls> | null;
  startedAt: number;
  isReady: boolean;
  summary: MemberSummary | null;
  /** Starts in a row that failed or did not last. */
  failures: number;
  cancelStart: () => void;
}

/** A process that runs for this long has started well. */
const steadyMs = 10_000;
const firstDelayMs = 1_000;
const longestDelayMs = 30_000;
/** A worker that stops by itself sooner, by a low --max-jobs for example, is replaced only after this time. */
const shortestLifeMs = 1_000;
const mostFailedStarts = 5;

/** Resolves when all processes have ended. Rejects if one cannot start again and again. @param argv the file and the arguments of this process */
export async function runFleet(argv: readonly string[], options: FleetOptions): Promise<FleetSummary> {
  const { processes, untilIdle, signals, note, metrics } = options;
  const beganAt = systemClock.now();
  const counts: Record<string, number> = {};
  const total = { settled: 0, deadLetters: 0, released: 0 };
  let restarts = 0;
  let reason: StopReason | null = null;
  let failure: CliError | null = null;
  let failedWith: number | null = null;
  let wasReady = false;
  let sums: Sums | null = null;
  const over = Promise.withResolvers<void>();
  const seats = Array.from(
    { length: processes },
    (_, i): Seat => ({
      number: i + 1,
      child: null,
      startedAt: 0,
      isReady: false,
      summary: null,
      failures: 0,
      cancelStart: () => {},
    }),
  );

  function start(seat: Seat): void {
    Object.assign(seat, { startedAt: systemClock.now(), isReady: false, summary: null });
    const env = { [memberVariable]: `${process.pid}:${seat.number}` };
    const child = startChild<MemberCalls>(argv, { env }, () => {
      const calls: ParentCalls = {
        ready: () => ready(seat),
        ended(summary) {
          seat.summary = summary;
        },
      };
      return calls;
    });
    seat.child = child;
    void child.ended.then((end) => ended(seat, child, end));
  }

  function ready(seat: Seat): void {
    seat.isReady = true;
    if (wasReady) return;
    // The others start after the first: an error of the config is printed once, and one process makes the tables.
    wasReady = true;
    if (reason === null) for (const other of seats.slice(1)) start(other);
  }

  function ended(
    seat: Seat,
    child: Child<MemberCalls>,
    { code, signal }: Awaited<Child<unknown>['ended']>,
  ): void {
    const { summary, isReady } = seat;
    seat.child = null;
    sums?.keep(child, summary?.numbers ?? null);
    if (summary) add(summary);
    const how = signal ?? `exit code ${code}`;
    const who = `Process ${seat.number} (pid ${child.pid})`;
    if (reason !== null) {
      if (!summary && signal === 'SIGKILL')
        note(`${who} ended with SIGKILL. Its jobs run again when their leases end.`);
    } else if (!isReady && !wasReady) {
      if (signal !== null) note(`${who} ended with ${signal} before its worker ran.`);
      failedWith = code || 1;
      stop('stopped');
    } else if (summary?.reason === 'stopped') {
      stop('stopped'); // the reader of its output has gone, and the output of all is the same
    } else if (untilIdle && (summary || code !== null)) {
      if (!summary) failedWith = code || 1;
      if (!summary || seats.every((one) => one.child === null && one.summary))
        stop(summary?.reason ?? 'stopped');
    } else {
      again(seat, who, how);
    }
    if (reason !== null && seats.every((one) => one.child === null)) over.resolve();
  }

  function again(seat: Seat, who: string, how: string): void {
    const { summary, isReady } = seat;
    const livedMs = systemClock.now() - seat.startedAt;
    seat.failures = summary || (isReady && livedMs >= steadyMs) ? 0 : seat.failures + 1;
    if (!isReady && seat.failures >= mostFailedStarts) {
      failure = new CliError(
        'INTERNAL',
        1,
        `Process ${seat.number} ended ${seat.failures} times in a row, the last time with ${how} before its worker ran. All processes were stopped. The messages above say why.`,
      );
      stop('stopped');
      return;
    }
    const backoffMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (seat.failures - 1));
    const delayMs = seat.failures > 0 ? backoffMs : livedMs < shortestLifeMs ? shortestLifeMs : 0;
    if (!summary) note(`${who} ended with ${how}. Another one starts ${inTime(delayMs)}.`);
    seat.cancelStart = systemClock.after(delayMs, () => {
      restarts++;
      start(seat);
    });
  }

  function add(summary: MemberSummary): void {
    for (const [outcome, count] of Object.entries(summary.counts))
      counts[outcome] = (counts[outcome] ?? 0) + count;
    total.settled += summary.settled;
    total.deadLetters += summary.deadLetters;
    total.released += summary.released;
  }

  function stop(why: StopReason): void {
    if (reason !== null) return;
    reason = why;
    for (const seat of seats) {
      seat.cancelStart();
      void seat.child?.peer.ask('stop', null).catch(() => {});
      void seat.child?.end();
    }
    if (seats.every((one) => one.child === null)) over.resolve();
  }

  const count = signalCounter(systemClock);
  const onSignal = (signal: NodeJS.Signals) => {
    const which = count();
    if (which === 'first') stop('signal');
    else if (which === 'second') {
      for (const { child } of seats) child?.signal('SIGKILL');
      process.exit(128 + constants.signals[signal]);
    }
  };
  for (const signal of signals) process.on(signal, onSignal);
  const forgetParent = watchParent(systemClock, () => stop('orphaned'));
  try {
    if (metrics) {
      const { serveSums } = await import('./sums.ts');
      const running = () => seats.flatMap(({ child, isReady }) => (child && isReady ? [child] : []));
      sums = await serveSums(metrics, running); // first, so that a port in use stops the start
      note(`Metrics are at ${sums.url}`);
    }
    if (reason === null) start(seats[0]!);
    await over.promise;
  } finally {
    forgetParent();
    await (sums as Sums | null)?.close();
    // The listeners stay: the second copy of a signal may arrive after the drain.
  }
  if (failure) throw failure;
  return {
    reason: reason!,
    counts: counts as WorkerSummary['counts'],
    ...total,
    durationMs: systemClock.now() - beganAt,
    processes,
    restarts,
    failedWith,
  };
}

const inTime = (ms: number): string => (ms === 0 ? 'now' : `in ${ms / 1_000} s`);
