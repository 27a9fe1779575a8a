/** The jobs that wait for an event: one text per event and key. */

import type { Clock } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { StepStore } from '../../contract/derived/steps.ts';
import { forEach } from '../../kit/parallel.ts';
import { swap } from '../../kit/records/swap.ts';
import { deliverTo } from './log.ts';
import { mostBytes, type WaitStep } from './stored.ts';

export interface EventWaiter {
  readonly id: string;
  readonly queue: string;
  /** The name of the step. */
  readonly step: string;
  readonly until: number;
  /** The tenant of the job; absent = none. */
  readonly tenantId?: string;
}

export type Got = NonNullable<WaitStep['got']>;

interface StoredEvent {
  /** An event kept for jobs that begin to wait before `until`. */
  readonly kept: (Got & { readonly until: number }) | null;
  readonly waiters: readonly EventWaiter[];
}

/** The most waiters of one event and key: all of them are written with every change. */
export const mostWaiters = 1_000;

export const nameOfEvent = (event: string, key: string | null): string => `event:${event}:${key ?? ''}`;

function alive(text: string | null, now: number): StoredEvent {
  const { kept, waiters } = text === null ? none : (JSON.parse(text) as StoredEvent);
  return {
    kept: kept && kept.until > now ? kept : null,
    waiters: waiters.filter(({ until }) => until > now),
  };
}
const none: StoredEvent = { kept: null, waiters: [] };

function textOf(found: StoredEvent): { readonly text: string | null; readonly endsAt: number } {
  const endsAt = found.waiters.reduce((end, { until }) => Math.max(end, until), found.kept?.until ?? 0);
  const text = endsAt === 0 ? null : JSON.stringify(found);
  if (text !== null && Buffer.byteLength(text) > mostBytes)
    throw new LongshoreError(
      'LIMIT',
      `Expected an event and its waiters to have at most ${mostBytes} bytes, got ${Buffer.byteLength(text)}. Use another key for each wait, or emit less.`,
    );
  return { text, endsAt: Math.ceil(endsAt) };
}

const isSame = (a: EventWaiter, b: EventWaiter): boolean =>
  a.id === b.id && a.step === b.step && a.until === b.until;

/** Registers a wait. Resolves with an event that was kept for it; then it waits no longer. Throws `LIMIT` if too many jobs wait. */
export async function register(
  store: StepStore,
  clock: Clock,
  event: string,
  key: string | null,
  waiter: EventWaiter,
): Promise<Got | null> {
  const { answer } = await swap<Got | null>(store, nameOfEvent(event, key), undefined, (text) => {
    const found = alive(text, clock.now());
    if (found.kept) return { answer: gotOf(found.kept) };
    if (found.waiters.some((one) => isSame(one, waiter))) return { answer: null };
    if (found.waiters.length >= mostWaiters)
      throw new LongshoreError(
        'LIMIT',
        `Expected at most ${mostWaiters} jobs to wait for event "${event}"${key === null ? '' : ' with one key'}, got more. Give each wait a key of its own.`,
      );
    return { answer: null, ...textOf({ ...found, waiters: [...found.waiters, waiter] }) };
  });
  return answer;
}

const gotOf = ({ payload, at }: Got): Got => ({ at, ...(payload !== undefined && { payload }) });

export interface Emission {
  readonly event: string;
  readonly key: string | null;
  readonly got: Got;
  readonly keepMs: number;
  /** Only jobs of this tenant. */
  readonly tenantId?: string | null;
}

export interface Delivered {
  readonly reached: readonly EventWaiter[];
  /** Errors of jobs that did not receive it; they keep waiting. */
  readonly failures: readonly unknown[];
}

/**
 * Delivers the event to all waiting jobs, to each at most once. A call that failed half-way may be repeated.
 *
 * @param wake called with the jobs that now have the event, or have it from a failed call. They stay waiters until `wake` has succeeded
 */
export async function deliver(
  store: StepStore,
  clock: Clock,
  { event, key, got, keepMs, tenantId }: Emission,
  wake: (jobs: readonly EventWaiter[]) => Promise<void> = async () => {},
): Promise<Delivered> {
  const isMeant = (one: EventWaiter) => tenantId == null || one.tenantId === tenantId;
  const name = nameOfEvent(event, key);
  // Kept first, so that a job that begins to wait meanwhile finds it.
  const { answer: waiters, now } = await swap<readonly EventWaiter[]>(store, name, undefined, (text) => {
    const found = alive(text, clock.now());
    const meant = found.waiters.filter(isMeant);
    if (keepMs === 0) return { answer: meant };
    return {
      answer: meant,
      ...textOf({ ...found, kept: { ...got, until: clock.now() + keepMs } }),
    };
  });
  const reached: EventWaiter[] = [];
  const failures: unknown[] = [];
  if (waiters.length === 0) return { reached, failures };
  const left = new Set<string>();
  await forEach(new Map(waiters.map((one) => [one.id, one])).values(), async (one) => {
    try {
      const names = await deliverTo(store, clock, one.id, { event, key, got });
      if (names.length > 0) reached.push(one);
    } catch (error) {
      failures.push(error);
      left.add(one.id);
    }
  });
  const awake = waiters.filter(({ id }) => !left.has(id));
  if (awake.length > 0) await wake(awake);
  await swap(store, name, now, (text) => {
    const found = alive(text, clock.now());
    const rest = found.waiters.filter(
      (one) => left.has(one.id) || !waiters.some((gone) => isSame(one, gone)),
    );
    return { answer: undefined, ...textOf({ ...found, waiters: rest }) };
  });
  return { reached, failures };
}
