/** A queue in this process's memory: for tests and for work that may be lost with the process. */

import { randomUUID } from 'node:crypto';
import { type Clock, steadyNow, systemClock } from '../../../core/base/clock.ts';
import type { AttemptReport } from '../../../core/contract/outcome.ts';
import type { JobLease, QueueBackend, SendResult } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { createEndWatchers } from '../../../core/kit/records/end-watchers.ts';
import { lostAttempt, statusOfEnd } from '../../../core/kit/records/row.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { createWaiters } from '../shared/waiters.ts';
import { memoryAdmin } from './admin.ts';
import { addReport, before, type Entry, newEntry } from './entry.ts';
import { createGroups } from './groups.ts';
import { createReadyList, type ReadyList } from './ready-list.ts';
import type { MemoryState } from './state.ts';
import { memoryKeys, memoryRecords } from './stores.ts';
import { memoryStores, memoryTexts } from './texts.ts';
import { memoryWaiting } from './waiting.ts';

export type { QueueBackend } from '../../../core/contract/queue.ts';
export type { Stores } from '../../../core/contract/store.ts';
export { type MemoryStoreOptions, memoryStore } from './store.ts';

export interface MemoryOptions {
  /** For tests. @default the system's clock */
  readonly clock?: Clock;
  /** How much later a job is ranked per priority level, ms. @default 3_600_000 */
  readonly ageingMs?: number;
  /** How long ended jobs are kept. @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** Largest body of a job, bytes. A larger one is refused with `LIMIT`. @default 1_048_576 */
  readonly maxBodyBytes?: number;
}

export function memory(options: MemoryOptions = {}): QueueBackend {
  const { clock = systemClock, ageingMs = backendDefaults.ageingMs } = options;
  const maxBodyBytes = options.maxBodyBytes ?? backendDefaults.maxBodyBytes;
  const waiters = createWaiters(clock);
  const leased = new Map<string, Entry>();
  let seq = 0;
  let open = true;

  const groups = createGroups(ageingMs, (head, readyAt) => {
    head.rank = readyAt + head.message.priority * ageingMs;
    pushed(head);
  });
  const state: MemoryState = {
    clock,
    groups,
    retention: { ...backendDefaults.retention, ...options.retention },
    entries: new Map(),
    readyLists: new Map(),
    paused: new Set(),
    ends: createEndWatchers(),
    readyListOf(queue) {
      let list = state.readyLists.get(queue);
      if (!list) {
        list = createReadyList(isLined);
        state.readyLists.set(queue, list);
      }
      return list;
    },
    wake: () => waiters.wake(),
    nextSeq: () => seq++,
    queue(entry, readyAt, now = clock.now(), rank = readyAt + entry.message.priority * ageingMs) {
      const mayHold = entry.state === 'leased' || (entry.message.group !== null && groups.isHead(entry));
      entry.readyAt = readyAt;
      entry.rank = rank;
      entry.lined = null;
      entry.state = readyAt > now ? 'delayed' : 'ready';
      if (entry.state === 'delayed' || !isLined(entry, now)) pushed(entry);
      if (entry.state === 'delayed' && entry.message.group !== null) groups.delay(entry, now, mayHold);
    },
    finish(entry, reason, error, keepMs, now = clock.now()) {
      entry.state = statusOfEnd(reason);
      entry.finishedAt = now;
      entry.reason = reason;
      entry.error = error;
      entry.lined = null;
      entry.keepMs = keepMs ?? null;
      const usualMs = reason === null || reason === 'cancelled' ? state.retention.completedMs : Infinity;
      if ((keepMs ?? usualMs) === 0) state.entries.delete(entry.message.id);
      if (entry.message.group !== null) groups.advance(entry, now);
      state.ends.tell(entry.message.id);
    },
    drop(gone) {
      for (const entry of gone) {
        entry.state = 'cancelled'; // makes its item in the ready list stale
        entry.lined = null;
        state.entries.delete(entry.message.id);
      }
      for (const entry of gone) if (entry.message.group !== null) groups.advance(entry, clock.now());
      for (const entry of gone) state.ends.tell(entry.message.id);
    },
  };

  function pushed(entry: Entry): void {
    state.readyListOf(entry.message.queue).push(entry);
    waiters.wake();
  }

  /** Puts a ready entry of a group into its line, unless it is the head. */
  function isLined(entry: Entry, now: number): boolean {
    if (entry.message.group === null || groups.isHead(entry)) return false;
    groups.join(entry, now);
    return true;
  }

  /** The entry of this lease; `null` = the lease has ended. */
  function owned({ token }: JobLease, steady: number): Entry | null {
    const entry = leased.get(token);
    return entry && entry.leaseUntil > steady ? entry : null;
  }

  /** Ends the lease and returns its entry. */
  function take(lease: JobLease, report?: AttemptReport, steady = steadyNow(clock)): Entry | null {
    const entry = owned(lease, steady);
    if (entry) leased.delete(lease.token);
    if (entry && report) addReport(entry, report);
    return entry;
  }

  function requeue(entry: Entry, readyAt: number): void {
    if (entry.cancelRequested) state.finish(entry, 'cancelled', null);
    else state.queue(entry, readyAt);
  }

  const keys = memoryKeys(clock);
  const texts = memoryTexts(clock);

  return {
    name: 'memory',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    keepsOrder: () => true,
    stores: {
      keys,
      records: memoryRecords(state, [keys, texts]),
      ...memoryStores(texts, clock),
    },
    admin: memoryAdmin(state, maxBodyBytes),
    pending: memoryWaiting(state, ageingMs, maxBodyBytes),

    async enqueue(messages) {
      const now = clock.now();
      return messages.map((message): SendResult => {
        const { id } = message;
        const error = tooLarge(message.body, maxBodyBytes);
        if (error) return { ok: false, id, error };
        if (state.entries.has(id)) return { ok: true, id, duplicate: true };
        const entry = newEntry(state.nextSeq(), message, now);
        state.entries.set(id, entry);
        state.queue(entry, Math.max(now, message.notBefore ?? now), now);
        return { ok: true, id, duplicate: false };
      });
    },

    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      for (;;) {
        const now = clock.now();
        const leases: JobLease[] = [];
        const leaseUntil = steadyNow(clock) + leaseMs;
        const unpaused = queues.filter((queue) => !state.paused.has(queue));
        while (leases.length < max) {
          const entry = next(unpaused, now);
          if (!entry) break;
          entry.state = 'leased';
          entry.attempt++;
          entry.token = randomUUID();
          entry.leasedAt = now;
          entry.leaseUntil = leaseUntil;
          leased.set(entry.token, entry);
          if (entry.message.group !== null) groups.lease(entry, now);
          const { queue, body } = entry.message;
          const { attempt, token, interrupted } = entry;
          leases.push({ queue, body, attempt, token, expiresAt: now + leaseMs, interrupted });
        }
        if (leases.length > 0 || now >= until || signal?.aborted || !open) return leases;
        const readyAt = Math.min(until, ...unpaused.map((queue) => state.readyListOf(queue).nextReadyAt()));
        await waiters.wait(Math.max(1, readyAt - now), signal);
      }
    },

    hints: { reapsForAll: true },

    async reapExpired(queue) {
      const now = clock.now();
      let count = 0;
      for (const [token, entry] of leased) {
        if (entry.leaseUntil > steadyNow(clock) || entry.message.queue !== queue) continue;
        leased.delete(token);
        entry.interrupted = true;
        addReport(entry, { ...lostAttempt(entry.attempt), startedAt: entry.leasedAt, endedAt: now });
        requeue(entry, now);
        count++;
      }
      return count;
    },

    async ack(acks) {
      const [now, steady] = [clock.now(), steadyNow(clock)];
      return acks.map(({ lease, report, complete, keepBody = false, keepMs }) => {
        const entry = take(lease, report, steady);
        if (!entry) return false;
        entry.keepsBody = keepBody;
        if (complete) keys.completeNow(complete);
        state.finish(entry, null, null, keepMs, now);
        return true;
      });
    },

    async nack(lease, { delayMs, countAttempt, report }) {
      const entry = take(lease, countAttempt ? report : undefined);
      if (!entry) return false;
      if (countAttempt) entry.interrupted = false;
      else entry.attempt--;
      requeue(entry, clock.now() + delayMs);
      return true;
    },

    async abandon(lease, { reason, error, report, keepMs }) {
      const entry = take(lease, report);
      if (!entry) return false;
      state.finish(entry, reason, error, keepMs);
      return true;
    },

    async renew(leases, leaseMs) {
      const steady = steadyNow(clock);
      return leases.map((lease) => {
        const entry = owned(lease, steady);
        if (entry) entry.leaseUntil = steady + leaseMs;
        return entry !== null;
      });
    },

    async close() {
      open = false;
      waiters.wake();
    },
  };

  function next(queues: readonly string[], now: number): Entry | undefined {
    let best: ReadyList | null = null;
    for (const queue of queues) {
      const list = state.readyListOf(queue);
      const candidate = list.first(now);
      if (candidate && (!best || before(candidate, best.first(now)!))) best = list;
    }
    return best?.take(now);
  }
}
