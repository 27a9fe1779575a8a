/** Moves the rows of an outbox to its target: at least once, in order per group, with one active relay per target. */

import { checkInteger } from '../../core/base/checks.ts';
import { type Clock, systemClock } from '../../core/base/clock.ts';
import { LongshoreError } from '../../core/base/errors.ts';
import type { EventListener } from '../../core/base/events.ts';
import { backendError } from '../../core/base/failure.ts';
import { createWaiters } from '../backends/shared/waiters.ts';
import type { Outbox } from './outbox.ts';
import { longestBatchMs, messageOf, sendBatch } from './send.ts';
import type { Fate } from './table.ts';

export interface RelayOptions {
  /** Rows per step, fewer if they are large. @default 500 */
  readonly batchSize?: number;
  /** Called with failures, recoveries and refused messages, for example `app.events.emit` or `logTo(logger)`. @default none */
  readonly on?: EventListener;
  /** Stops the relay like `stop()`. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Returns random numbers in [0, 1). */
  readonly random?: () => number;
}

export interface RelaySummary {
  /** Rows that the target confirmed, including duplicates. */
  readonly sent: number;
  readonly refused: number;
}

export interface Relay {
  /** Waits for the running call to the target, and begins no other. */
  stop(): Promise<RelaySummary>;
  /** Resolves when the relay has stopped, for any reason. Never rejects. */
  readonly done: Promise<RelaySummary>;
}

/** Maximum pause between tries while the target or the database is down. */
const longestBackoffMs = 1_000;
/** How often a standby relay checks whether the active one still runs. */
const standbyMs = 500;
/** A message that fails this often while others are accepted counts as refused. Otherwise many such messages would block the outbox. */
const mostTries = 25;

export function startRelay(outbox: Outbox, options: RelayOptions = {}): Relay {
  const { batchSize = 500, on = () => {}, clock = systemClock, random = Math.random } = options;
  checkInteger('batchSize of startRelay()', batchSize, 1);
  const { source, target } = outbox;
  const table = source.outbox;
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = createWaiters(clock);
  const counts = { sent: 0, refused: 0 };
  const tries = new Map<string, number>();
  const sourceHealth = createHealth(source.name);
  const targetHealth = createHealth(target.backend.name);

  /** Emits failures and recoveries of a backend, and computes the pause after consecutive failures. */
  function createHealth(backend: string) {
    let failures = 0;
    let failedAt = 0;
    return {
      worked(): void {
        if (failures === 0) return;
        failures = 0;
        on({ type: 'backend.recovered', backend, afterMs: clock.now() - failedAt });
      },
      failed(error: LongshoreError): void {
        if (failures++ === 0) failedAt = clock.now();
        on({ type: 'backend.failed', backend, during: 'relaying', error });
      },
      get backoffMs() {
        if (failures === 0) return 0;
        return Math.min(longestBackoffMs, 100 * 2 ** Math.min(failures - 1, 10)) * (0.5 + random() / 2);
      },
    };
  }

  async function send(texts: readonly string[]): Promise<Fate[]> {
    const fates = await sendBatch(texts, target.backend, clock, signal);
    const anySent = fates.some(({ state }) => state === 'sent');
    return fates.map((fate, i) => (fate.state === 'kept' && anySent ? triedAgain(fate, texts[i]!) : fate));
  }

  /** Counts a failed try. The target accepted other messages, but not this one. */
  function triedAgain(fate: Fate & { state: 'kept' }, text: string): Fate {
    if (fate.error === null) return fate;
    const { id, queue } = messageOf(text)!;
    const n = (tries.get(id) ?? 0) + 1;
    tries.set(id, n);
    if (n < mostTries) return fate;
    const { code, message } = fate.error;
    const error = new LongshoreError(code, `${message} Given up after ${n} tries.`, { cause: fate.error });
    return { state: 'refused', id, queue, error };
  }

  /** Counts and emits results after the database has committed them. */
  function account(texts: readonly string[], fates: readonly Fate[]): void {
    let failure: LongshoreError | null = null;
    let anySent = false;
    for (const [i, fate] of fates.entries()) {
      if (fate.state === 'kept') {
        failure ??= fate.error;
        continue;
      }
      counts[fate.state]++;
      anySent ||= fate.state === 'sent';
      if (tries.size > 0) tries.delete(messageOf(texts[i]!)?.id ?? '');
      if (fate.state !== 'refused') continue;
      const { id, queue, error } = fate;
      on({ type: 'outbox.refused', backend: target.backend.name, id, queue, error });
    }
    if (failure) targetHealth.failed(failure);
    else if (anySent) targetHealth.worked();
  }

  async function run(): Promise<RelaySummary> {
    while (!signal.aborted) {
      const change = table.watch();
      let after = () => {};
      try {
        const result = await table.move(target.name, batchSize, longestBatchMs, async (texts) => {
          const fates = await send(texts);
          after = () => account(texts, fates);
          return fates;
        });
        if (result === 'closed') break;
        sourceHealth.worked();
        after();
        if (result === 'empty') await change(signal);
        else if (result === 'busy') await pause.wait(standbyMs * (0.5 + random() / 2), signal);
        else await pause.wait(targetHealth.backoffMs, signal);
      } catch (error) {
        sourceHealth.failed(backendError('relaying', error));
        await pause.wait(sourceHealth.backoffMs, signal);
      }
      await new Promise(setImmediate); // so that timers and signals run
    }
    return counts;
  }

  function stop(): Promise<RelaySummary> {
    stopping.abort();
    return done;
  }

  options.signal?.addEventListener('abort', stop);
  if (options.signal?.aborted) stopping.abort();
  const forget = outbox.beforeClose(stop);
  const done = run().finally(() => {
    options.signal?.removeEventListener('abort', stop);
    forget();
  });
  return { stop, done };
}
