/** A backend that can be told to fail: what the worker of `longshore dev` works on. */

import type { Clock } from '../../core/base/clock.ts';
import { LongshoreError } from '../../core/base/errors.ts';
import type {
  Ack,
  FetchRequest,
  JobLease,
  OutgoingMessage,
  QueueBackend,
  SendResult,
} from '../../core/contract/queue.ts';
import { aborted } from '../waiting.ts';
import type { createRunning } from './running-attempts.ts';

export type FaultyBackend = ReturnType<typeof faulty>;

/** What a handler's end is told when its ack has got lost, and how the job comes back. */
export const again = { delayMs: 0, countAttempt: true } as const;

export function faulty(inner: QueueBackend, clock: Clock, running: ReturnType<typeof createRunning>) {
  let fullUntil = 0;
  let hold: { readonly over: Promise<void>; free(): void } | null = null;
  let fetches = 0;
  /** Ends the fetches that wait for jobs. */
  let wake = new AbortController();
  /** Tokens of leases whose ack does not arrive. */
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
    /** Whether a job runs, or may be about to. */
    get isBusy(): boolean {
      return running.size > 0 || fetches > 0;
    },
  };
}

function full(during: string): LongshoreError {
  return new LongshoreError(
    'STORAGE_FULL',
    `The disk is full while ${during}, as you have asked for; nothing of this call was stored. It ends by itself.`,
  );
}
