/**
 * The seam in one file, to start a backend of your own from: a queue in the memory of this process that keeps the laws. It shows what
 * each of the eight verbs has to do, and nothing for speed; `longshore/local/memory` is the one to use.
 */

import type { Clock } from '../../core/base/clock.ts';
import type { DeadLetter } from '../../core/contract/admin.ts';
import type { JobLease, OutgoingMessage, QueueBackend, SendResult } from '../../core/contract/queue.ts';
import { tooLarge } from '../../core/kit/body-limit.ts';

interface Stored {
  readonly message: OutgoingMessage;
  readyAt: number;
  attempt: number;
  interrupted: boolean;
  /** `null` = nobody has it. */
  lease: { readonly token: string; until: number } | null;
}

export interface ExampleBackend extends QueueBackend {
  /** In the order in which they died. A real backend offers them in its `admin`. */
  readonly dead: readonly DeadLetter[];
}

/** One priority level weighs as much as an hour of waiting, so that nothing starves. */
const ageingMs = 3_600_000;

export function exampleBackend({ clock }: { readonly clock: Clock }): ExampleBackend {
  const limits = { maxBodyBytes: 1_048_576, maxDelayMs: null, maxLeaseMs: null };
  /** By id, in the order of arrival. */
  const jobs = new Map<string, Stored>();
  const dead: DeadLetter[] = [];
  const waiting = new Set<() => void>();
  let tokens = 0;
  let open = true;

  const rank = ({ readyAt, message }: Stored): number => readyAt + message.priority * ageingMs;

  function wake(): void {
    for (const end of [...waiting]) end();
  }

  /** What a lease still owns. Every settle verb begins here: a stale token must change nothing. */
  const owned = ({ token }: JobLease): Stored | undefined =>
    [...jobs.values()].find(({ lease }) => lease?.token === token && lease.until > clock.now());

  function store(message: OutgoingMessage): SendResult {
    const { id, body, notBefore } = message;
    const error = tooLarge(body, limits.maxBodyBytes);
    if (error) return { ok: false, id, error };
    if (jobs.has(id)) return { ok: true, id, duplicate: true };
    // A moment in the past must give no advantage over what already waits.
    const readyAt = Math.max(clock.now(), notBefore ?? 0);
    jobs.set(id, { message, readyAt, attempt: 0, interrupted: false, lease: null });
    return { ok: true, id, duplicate: false };
  }

  /** The attempt is counted here, so that a job that kills its worker runs out of attempts, too. */
  function leaseOut(one: Stored, leaseMs: number): JobLease {
    const lease = { token: `${++tokens}`, until: clock.now() + leaseMs };
    const { interrupted, message } = one;
    Object.assign(one, { lease, attempt: one.attempt + 1, interrupted: false });
    const { queue, body } = message;
    return { queue, body, attempt: one.attempt, interrupted, token: lease.token, expiresAt: lease.until };
  }

  /** Until something comes or becomes ready, the time is over, or the caller gives up. */
  function wait(until: number, signal: AbortSignal | undefined): Promise<void> {
    const delayed = [...jobs.values()].filter(({ readyAt }) => readyAt > clock.now());
    const next = Math.min(until, ...delayed.map(({ readyAt }) => readyAt));
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        waiting.delete(end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const cancel = clock.after(next - clock.now(), end);
      waiting.add(end);
      signal?.addEventListener('abort', end);
    });
  }

  return {
    name: 'example',
    limits,
    dead,
    async enqueue(messages) {
      const results = messages.map(store);
      wake();
      return results;
    },
    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      for (;;) {
        const ready = [...jobs.values()]
          .filter(({ lease, readyAt, message }) => {
            return lease === null && readyAt <= clock.now() && queues.includes(message.queue);
          })
          .sort((a, b) => rank(a) - rank(b));
        const leases = ready.slice(0, max).map((one) => leaseOut(one, leaseMs));
        if (leases.length > 0 || clock.now() >= until || signal?.aborted || !open) return leases;
        await wait(until, signal);
      }
    },
    async ack(acks) {
      return acks.map(({ lease }) => jobs.delete(owned(lease)?.message.id ?? ''));
    },
    async nack(lease, { delayMs, countAttempt }) {
      const one = owned(lease);
      if (!one) return false;
      Object.assign(one, { lease: null, readyAt: clock.now() + delayMs });
      // As if this attempt had never begun, what is known of the one before included.
      if (!countAttempt) Object.assign(one, { attempt: one.attempt - 1, interrupted: lease.interrupted });
      wake();
      return true;
    },
    async abandon(lease, { reason, error }) {
      const one = owned(lease);
      if (!one) return false;
      const { id, queue, job, body } = one.message;
      jobs.delete(id);
      dead.push({ id, queue, job, body, reason, error, attempt: one.attempt, diedAt: clock.now() });
      return true;
    },
    async renew(leases, leaseMs) {
      return leases.map((lease) => {
        const one = owned(lease);
        if (one) one.lease!.until = clock.now() + leaseMs;
        return one !== undefined;
      });
    },
    async reapExpired(queue) {
      const lost = [...jobs.values()].filter(({ message, lease }) => {
        return message.queue === queue && lease !== null && lease.until <= clock.now();
      });
      for (const one of lost) Object.assign(one, { lease: null, interrupted: true, readyAt: clock.now() });
      wake();
      return lost.length;
    },
    async close() {
      open = false;
      wake();
    },
  };
}
