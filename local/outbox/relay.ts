/** Moves the rows of an outbox to its target: at least once, in order per key, one relay of a target at a time. */

import { checkInteger } from '../../core/base/checks.ts';
import { type Clock, systemClock } from '../../core/base/clock.ts';
import { LongshoreError } from '../../core/base/errors.ts';
import type { EventListener } from '../../core/base/events.ts';
import { backendError } from '../../core/base/failure.ts';
import { createWaiters } from '../backends/shared/waiters.ts';
import type { Outbox } from './outbox.ts';
import { messageOf } from './row.ts';
import { longestBatchMs, sendBatch } from './send.ts';
import type { Fate } from './table.ts';

export interface RelayOptions {
  /** Rows moved in one step; fewer when they are large. @default 500 */
  readonly batchSize?: number;
  /** Is told of failures, recoveries and refused messages: `app.events.emit`, or `logTo(logger)`. @default nobody */
  readonly on?: EventListener;
  /** Stops the relay, as `stop()` does. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** In [0, 1). */
  readonly random?: () => number;
}

export interface RelaySummary {
  /** Rows that the target has confirmed, copies included. */
  readonly sent: number;
  readonly refused: number;
}

export interface Relay {
  /** Lets the call to the target that is under way end and be written down; begins no other. */
  stop(): Promise<RelaySummary>;
  /** Resolves after it has stopped, whoever asked for it. Never rejects. */
  readonly done: Promise<RelaySummary>;
}

/** A target or a database that is back is noticed within this. */
const longestBackoffMs = 1_000;
/** How often a relay looks whether the one at work still is. */
const standbyMs = 500;
/** A message that fails so often while its neighbours are taken is refused: else enough of its kind would block them all. */
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

  /** Tells of failures, counts those in a row, and says how long to leave the backend alone. */
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

  /** The target works, and did not take this one. */
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

  /** After the database has it all written down. */
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
      await new Promise(setImmediate); // timers and signals must get their turn
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
