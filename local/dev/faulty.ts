/** Wraps the backend of the worker of `longshore dev`, so that it fails on demand. */

import type { Clock } from '../../core/base/clock.ts';
import { LongshoreError } from '../../core/base/errors.ts';
import type { LongshoreEvent } from '../../core/base/events.ts';
import type {
  Ack,
  FetchRequest,
  JobLease,
  OutgoingMessage,
  QueueBackend,
  SendResult,
} from '../../core/contract/queue.ts';
import { aborted } from '../waiting.ts';

export type FaultyBackend = ReturnType<typeof faulty>;

/** A job whose ack was lost becomes ready again at once, and the attempt counts. */
export const again = { delayMs: 0, countAttempt: true } as const;

export function faulty(inner: QueueBackend, clock: Clock, running: ReturnType<typeof createRunning>) {
  let fullUntil = 0;
  let hold: { readonly over: Promise<void>; free(): void } | null = null;
  let fetches = 0;
  /** Ends the fetches that wait for jobs. */
  let wake = new AbortController();
  /** Tokens of leases whose ack will be lost. */
  const unacked = new Set<string>();

  function checkDisk(during: string): void {
    if (clock.now() < fullUntil) throw full(during);
  }

  const refused = (messages: readonly OutgoingMessage[]): SendResult[] | null =>
    clock.now() < fullUntil ? messages.map(({ id }) => ({ ok: false, id, error: full('enqueueing') })) : null;

  async function loseAcks(acks: readonly Ack[]): Promise<void> {
    for (const { lease } of acks) if (unacked.delete(lease.token)) await inner.nack(lease, again);
  }

  async function ending<T>(ended: readonly { lease: JobLease }[], settle: () => Promise<T>): Promise<T> {
    try {
      checkDisk('settling');
      return await settle();
    } finally {
      for (const { lease } of ended) running.end(lease);
    }
  }

  async function fetch(request: FetchRequest): Promise<JobLease[]> {
    checkDisk('leasing');
    if (hold) {
      await Promise.race([hold.over, ...(request.signal ? [aborted(request.signal)] : [])]);
      return [];
    }
    const signal = AbortSignal.any([wake.signal, ...(request.signal ? [request.signal] : [])]);
    fetches++;
    try {
      const leases = await inner.fetch({ ...request, signal });
      running.lease(leases);
      return leases;
    } finally {
      fetches--;
    }
  }

  const own = {
    enqueue: async (messages) => refused(messages) ?? inner.enqueue(messages),
    fetch,
    ack: (acks) =>
      ending(acks, async () => {
        await loseAcks(acks);
        return inner.ack(acks);
      }),
    nack: (lease, how) => ending([{ lease }], () => inner.nack(lease, how)),
    abandon: (lease, why) => ending([{ lease }], () => inner.abandon(lease, why)),
    async renew(leases, leaseMs) {
      checkDisk('renewing');
      return inner.renew(leases, leaseMs);
    },
  } satisfies Partial<QueueBackend>;
  const { begin, enqueueIn } = inner;
  const { ackAndFetch } = inner.hints ?? {};
  const hints = ackAndFetch && {
    ...inner.hints,
    async ackAndFetch(acks: readonly Ack[], request: Omit<FetchRequest, 'waitMs' | 'signal'>) {
      if (hold) return { settled: await own.ack(acks), leases: [] };
      fetches++;
      try {
        const both = await ending(acks, async () => {
          await loseAcks(acks);
          return ackAndFetch(acks, request);
        });
        running.lease(both.leases);
        return both;
      } finally {
        fetches--;
      }
    },
  };
  return {
    backend: {
      ...inner,
      ...own,
      ...(hints && { hints }),
      ...(enqueueIn && {
        enqueueIn: async (tx, messages) => refused(messages) ?? enqueueIn(tx, messages),
      }),
      ...(begin && {
        async begin() {
          checkDisk('beginning a transaction');
          return begin();
        },
      }),
    } satisfies QueueBackend as QueueBackend,
    inner,
    fillDisk(ms: number): void {
      fullUntil = clock.now() + ms;
    },
    loseAck(lease: JobLease): void {
      unacked.add(lease.token);
    },
    /** Gives out no leases until `free` is called. */
    hold(): void {
      if (hold) return;
      const { promise: over, resolve: free } = Promise.withResolvers<void>();
      hold = { over, free };
      wake.abort();
      wake = new AbortController();
    },
    free(): void {
      hold?.free();
      hold = null;
    },
    /** Whether a job runs, or a fetch may bring one. */
    get isBusy(): boolean {
      return running.size > 0 || fetches > 0;
    },
  };
}

function full(during: string): LongshoreError {
  return new LongshoreError(
    'STORAGE_FULL',
    `The disk is full while ${during}, because you caused this fault. Nothing of this call was stored. The fault ends by itself.`,
  );
}

interface Leased {
  readonly id: string;
  /** Number of the attempt, as in events. */
  readonly attempt: number;
  readonly lease: JobLease;
}

export interface RunningAttempt extends Leased {
  readonly job: string;
}

export type AttemptEvent = Extract<LongshoreEvent, { type: 'job.started' | 'job.settled' }>;
export type SettledEvent = Extract<LongshoreEvent, { type: 'job.settled' }>;

const mostPast = 1_000;

/** Tracks the leases of a worker, by a wrapper of its backend, and its running attempts, by its events. */
export function createRunning() {
  const leased = new Map<string, Leased>();
  const running = new Map<string, RunningAttempt>();
  const listeners = new Set<(event: AttemptEvent) => void>();
  const past: AttemptEvent[] = [];
  const keyOf = ({ id, attempt }: { id: string; attempt: number }) => `${id} ${attempt}`;

  return {
    /** Number of leased jobs. */
    get size(): number {
      return leased.size;
    },
    /** The attempt that began first. */
    first: (): RunningAttempt | null => [...running.values()][0] ?? null,
    lease(leases: readonly JobLease[]): void {
      for (const lease of leases) {
        const one = leasedOf(lease);
        if (one) leased.set(keyOf(one), one);
      }
    },
    /** The attempt has ended, even if the queue could not settle it. */
    end(lease: JobLease): void {
      const one = leasedOf(lease);
      if (!one) return;
      leased.delete(keyOf(one));
      running.delete(keyOf(one));
    },
    event(event: LongshoreEvent): void {
      if (event.type === 'job.started') {
        const one = leased.get(keyOf(event));
        if (one) running.set(keyOf(event), { ...one, job: event.job });
      } else if (event.type === 'job.settled') {
        leased.delete(keyOf(event));
        running.delete(keyOf(event));
      }
      if (event.type !== 'job.started' && event.type !== 'job.settled') return;
      past.push(event);
      if (past.length > mostPast) past.shift();
      for (const listener of [...listeners]) listener(event);
    },
    /** Resolves with the first event that matches, which may be a recent one. */
    find<E extends AttemptEvent>(matches: (event: AttemptEvent) => event is E): Promise<E> {
      const found = past.find(matches);
      if (found) return Promise.resolve(found);
      return new Promise((resolve) => {
        const listener = (event: AttemptEvent) => {
          if (!matches(event)) return;
          listeners.delete(listener);
          resolve(event);
        };
        listeners.add(listener);
      });
    },
    /** The attempt of an event that it has begun. */
    of: (event: { id: string; attempt: number }): RunningAttempt | null => running.get(keyOf(event)) ?? null,
  };
}

/** `null` = no message of Longshore, which is refused before a handler runs. */
function leasedOf(lease: JobLease): Leased | null {
  try {
    const { identifier, attempts } = JSON.parse(lease.body) as { identifier?: unknown; attempts?: unknown };
    if (typeof identifier !== 'string' || typeof attempts !== 'number') return null;
    return { id: identifier, attempt: attempts + lease.attempt, lease };
  } catch {
    return null;
  }
}
