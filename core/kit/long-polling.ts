/**
 * Long polls of remote queues. An aborted receive call may still take messages and hide them until their leases end. So
 * calls are never aborted: a call outlives its fetch. Its messages go to the next fetch, or are released when none comes.
 */

import type { Clock } from '../base/clock.ts';
import type { FetchRequest, JobLease } from '../contract/queue.ts';

/** @typeParam P the address of one receive call, with the name of its queue. A queue may have several addresses */
export interface PollPorts<P extends { readonly name: string }> {
  readonly clock: Clock;
  /** How long one receive call may wait, ms. */
  readonly longPollMs: number;
  /** The most messages that one receive call returns. */
  readonly mostPerCall: number;
  /** How many messages a waiting call asks for. Some services answer only when they have that number, or the wait is over. */
  mostPerPoll(address: P): number;
  /** The addresses of a queue, in the order of this fetch. Always the same objects. */
  addressesOf(queue: string): readonly P[];
  /** One receive call. `waitMs` 0 = look once. */
  receive(address: P, max: number, leaseMs: number, waitMs: number): Promise<JobLease[]>;
  release(leases: readonly JobLease[]): Promise<void>;
}

export type Polling = ReturnType<typeof createPolling>;

export function createPolling<P extends { readonly name: string }>(ports: PollPorts<P>) {
  const { clock, longPollMs, mostPerCall, mostPerPoll, addressesOf, receive, release } = ports;
  /** Received, not yet fetched. */
  let inbox: JobLease[] = [];
  const polls = new Map<P, Promise<void>>();
  const waiting = new Set<() => void>();
  /** Cancels the releases that are planned for messages in the inbox. */
  const timers = new Set<() => void>();
  /** Addresses that had messages for most calls of the last fetch: they are asked for all that is wanted at once. */
  const plentiful = new Set<P>();
  let failures: unknown[] = [];
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

  function startPoll(address: P, max: number, leaseMs: number, waitMs: number): void {
    if (polls.has(address)) return;
    const poll = receive(address, max, leaseMs, waitMs)
      .then(
        (leases) => keep(leases, leaseMs),
        (error) => void failures.push(error),
      )
      .finally(() => {
        polls.delete(address);
        wake();
      });
    polls.set(address, poll);
  }

  function keep(leases: readonly JobLease[], leaseMs: number): void {
    if (leases.length === 0) return;
    inbox.push(...leases);
    const cancel = clock.after(leaseMs / 2, () => {
      timers.delete(cancel);
      void releaseUnwanted(leases);
    });
    timers.add(cancel);
  }

  async function releaseUnwanted(leases: readonly JobLease[]): Promise<void> {
    const unwanted = inbox.filter((lease) => leases.includes(lease));
    if (unwanted.length === 0) return;
    inbox = inbox.filter((lease) => !unwanted.includes(lease));
    await release(unwanted).catch(() => {}); // then they come back when their leases end
  }

  /** Resolves at the next wake, at `untilMs` (epoch), or when the signal aborts. */
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

  /** Looks once, address by address, so that it takes no more messages than asked for. */
  async function look(addresses: readonly P[], max: number, leaseMs: number): Promise<JobLease[]> {
    const leases: JobLease[] = [];
    for (const address of addresses) {
      const left = max - leases.length;
      if (left <= 0) break;
      try {
        leases.push(...(await lookAt(address, left, leaseMs)));
      } catch (error) {
        if (leases.length === 0) throw error;
        break; // keeps the messages of the queues before
      }
    }
    return leases;
  }

  async function lookAt(address: P, max: number, leaseMs: number): Promise<JobLease[]> {
    if (plentiful.has(address)) return more(address, max, leaseMs);
    const first = await receive(address, Math.min(mostPerCall, max), leaseMs, 0);
    if (first.length < mostPerCall || max <= mostPerCall) return first;
    return [...first, ...(await moreIfAny(address, max - first.length, leaseMs))];
  }

  /** As many calls at once as `max` takes. Rejects if all of them failed. */
  async function more(address: P, max: number, leaseMs: number): Promise<JobLease[]> {
    const calls: Promise<JobLease[]>[] = [];
    for (let left = max; left > 0; left -= mostPerCall) {
      calls.push(receive(address, Math.min(mostPerCall, left), leaseMs, 0));
    }
    const results = await Promise.allSettled(calls); // a failed call must not lose the messages of the others
    const leases = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (leases.length * 2 > max) plentiful.add(address);
    else plentiful.delete(address);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed && leases.length === 0) throw failed.reason;
    return leases;
  }

  const moreIfAny = (address: P, max: number, leaseMs: number): Promise<JobLease[]> =>
    more(address, max, leaseMs).catch(() => []);

  /** Every queue gets its turn to be first. */
  function inTurn(queues: readonly string[]): string[] {
    const start = first++ % Math.max(1, queues.length);
    return [...queues.slice(start), ...queues.slice(0, start)];
  }

  return {
    async fetch({ queues: named, max, leaseMs, waitMs, signal }: FetchRequest): Promise<JobLease[]> {
      const queues = inTurn(named);
      const addresses = queues.flatMap(addressesOf);
      const until = clock.now() + waitMs;
      let leases = take(queues, max);
      if (leases.length > 0 || max <= 0) return leases;
      failures = [];
      // Long polls ask all addresses at once, which ignores priorities. So look at the urgent lanes first. Nor is there anything to wait for
      // where there was plenty.
      if (waitMs <= 0 || addresses.length > queues.length || addresses.some((one) => plentiful.has(one))) {
        leases = await look(addresses, max, leaseMs);
        // A poll that is still under way may have been faster.
        if (leases.length === 0) leases = take(queues, max);
        if (leases.length > 0 || waitMs <= 0) return leases;
      }
      while (open && !signal?.aborted && clock.now() < until) {
        const leftMs = Math.min(longPollMs, until - clock.now());
        for (const address of addresses)
          startPoll(address, Math.min(mostPerPoll(address), max), leaseMs, leftMs);
        await happening(until, signal);
        leases = take(queues, max);
        if (leases.length > 0) break;
        if (failures.length > 0) throw failures.at(-1);
      }
      const [lease] = leases;
      const [address, ...others] = addresses.filter(({ name }) => name === lease?.queue);
      if (!address || others.length > 0) return leases;
      if (leases.length >= mostPerPoll(address) && leases.length < max) {
        leases.push(...(await moreIfAny(address, max - leases.length, leaseMs)));
      }
      return leases;
    },
    /** Ends waiting fetches, and waits for receive calls under way. */
    async close(): Promise<void> {
      open = false;
      wake();
      await Promise.all(polls.values());
      stopTimers();
      await releaseUnwanted(inbox);
    },
  };
}
