/**
 * Long polls, for queues that live elsewhere. A receive call that is broken off may still take messages, which are then hidden from everybody until
 * their lease ends. So none is ever broken off: when its fetch stops waiting it goes on, and what it brings is kept for
 * the next fetch, or handed back when none comes.
 */

import type { Clock } from '../../../core/clock.ts';
import type { FetchRequest, JobLease } from '../../../core/contract.ts';

export interface PollPorts {
  readonly clock: Clock;
  /** How long one receive call may wait, ms. */
  readonly longPollMs: number;
  /** What one receive call can bring. */
  readonly mostPerCall: number;
  /** One receive call. `waitMs` 0 = look once. */
  receive(queue: string, max: number, leaseMs: number, waitMs: number): Promise<JobLease[]>;
  handBack(leases: readonly JobLease[]): Promise<void>;
}

export interface Polling {
  fetch(request: FetchRequest): Promise<JobLease[]>;
  /** Ends waiting fetches, and waits for receive calls under way. */
  close(): Promise<void>;
}

export function createPolling({ clock, longPollMs, mostPerCall, receive, handBack }: PollPorts): Polling {
  /** Received, not yet fetched. */
  let inbox: JobLease[] = [];
  const polls = new Map<string, Promise<void>>();
  const waiting = new Set<() => void>();
  /** Of what is in the inbox: when it is handed back. */
  const timers = new Set<() => void>();
  let failure: { readonly error: unknown } | null = null;
  let first = 0;
  let open = true;

  function wake(): void {
    for (const end of waiting) end();
  }

  function take(queues: readonly string[], max: number): JobLease[] {
    const now = clock.now();
    inbox = inbox.filter((lease) => lease.expiresAt > now);
    const taken = inbox.filter(({ queue }) => queues.includes(queue)).slice(0, Math.max(0, max));
    if (taken.length > 0) inbox = inbox.filter((lease) => !taken.includes(lease));
    if (inbox.length === 0) stopTimers();
    return taken;
  }

  function stopTimers(): void {
    for (const cancel of timers) cancel();
    timers.clear();
  }

  function startPoll(queue: string, leaseMs: number, waitMs: number): void {
    if (polls.has(queue)) return;
    const poll = receive(queue, 1, leaseMs, waitMs)
      .then(
        (leases) => keep(leases, leaseMs),
        (error) => {
          failure = { error };
        },
      )
      .finally(() => {
        polls.delete(queue);
        wake();
      });
    polls.set(queue, poll);
  }

  function keep(leases: readonly JobLease[], leaseMs: number): void {
    if (leases.length === 0) return;
    inbox.push(...leases);
    const cancel = clock.after(leaseMs / 2, () => {
      timers.delete(cancel);
      void giveBack(leases);
    });
    timers.add(cancel);
  }

  async function giveBack(leases: readonly JobLease[]): Promise<void> {
    const unwanted = inbox.filter((lease) => leases.includes(lease));
    if (unwanted.length === 0) return;
    inbox = inbox.filter((lease) => !unwanted.includes(lease));
    await handBack(unwanted).catch(() => {}); // then they come back when their leases end
  }

  /** Until something happened, `untilMs` (epoch) or the signal. */
  function happening(untilMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal?.removeEventListener('abort', end);
        waiting.delete(end);
        resolve();
      };
      const cancel = clock.after(Math.max(0, untilMs - clock.now()), end);
      signal?.addEventListener('abort', end);
      waiting.add(end);
    });
  }

  /** Looks once, queue by queue, so that no more is taken than asked for. */
  async function look(queues: readonly string[], max: number, leaseMs: number): Promise<JobLease[]> {
    const leases: JobLease[] = [];
    for (const queue of queues) {
      const left = max - leases.length;
      if (left <= 0) break;
      try {
        const batch = await receive(queue, Math.min(mostPerCall, left), leaseMs, 0);
        leases.push(...batch);
      } catch (error) {
        if (leases.length === 0) throw error;
        break; // what came from the queues before must not be lost
      }
    }
    return leases;
  }

  /** Every queue gets its turn to be first. */
  function inTurn(queues: readonly string[]): string[] {
    const start = first++ % Math.max(1, queues.length);
    return [...queues.slice(start), ...queues.slice(0, start)];
  }

  return {
    async fetch({ queues: named, max, leaseMs, waitMs, signal }) {
      const queues = inTurn(named);
      const until = clock.now() + waitMs;
      let leases = take(queues, max);
      if (leases.length > 0 || max <= 0) return leases;
      failure = null;
      if (waitMs <= 0) {
        leases = await look(queues, max, leaseMs);
        // A poll that is still under way may have been faster.
        return leases.length > 0 ? leases : take(queues, max);
      }
      while (open && !signal?.aborted && clock.now() < until) {
        const leftMs = Math.min(longPollMs, until - clock.now());
        for (const queue of queues) startPoll(queue, leaseMs, leftMs);
        await happening(until, signal);
        leases = take(queues, max);
        if (leases.length > 0) break;
        if (failure) throw (failure as { readonly error: unknown }).error;
      }
      // A poll brings one message; where there is one, there may be more.
      if (leases.length > 0 && leases.length < max) {
        leases.push(...(await look(queues, max - leases.length, leaseMs).catch(() => [])));
      }
      return leases;
    },
    async close() {
      open = false;
      wake();
      await Promise.all(polls.values());
      stopTimers();
      await giveBack(inbox);
    },
  };
}
