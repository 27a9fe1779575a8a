/** The verbs in which the laws are written. */

import assert from 'node:assert/strict';
import type { Outcome } from '../../../core/base/events.ts';
import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { AttemptReport } from '../../../core/contract/outcome.ts';
import type { JobLease, OutgoingMessage, QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import type { Bench, Lack } from './harness.ts';

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** The only queues the laws use; a broker that needs its queues beforehand creates these. */
export const queues = ['mail', 'reports'] as const;
export const mail = 'mail';
export const reports = 'reports';

export interface TakeOptions {
  /** @default 'mail' only */
  readonly queues?: readonly string[];
  /** @default long enough for any law that does not speak of expiry */
  readonly leaseMs?: number;
}

export interface Kit {
  readonly backend: QueueBackend;
  /** Every opening of the storage that the bench offers. */
  readonly openings: readonly QueueBackend[];
  readonly admin: QueueAdmin;
  readonly stores: Stores;
  /** How long a broker may take to hand out a message that is ready. */
  readonly patienceMs: number;
  /** Whether the harness declares this lack. */
  lacks(topic: Lack): boolean;
  now(): number;
  advance(ms: number): Promise<void>;
  /** A message for 'mail' at normal priority, not sent yet. */
  message(change?: Partial<OutgoingMessage>): OutgoingMessage;
  /** Sends one message, which must be stored. */
  put(change?: Partial<OutgoingMessage>): Promise<OutgoingMessage>;
  /** Takes one lease, which must be there. */
  take(options?: TakeOptions): Promise<JobLease>;
  /** Takes whatever there is, up to `max`, in the order in which it is given out. */
  takeAll(max?: number, options?: TakeOptions): Promise<JobLease[]>;
  /** Takes exactly `count` leases; a queue may need several fetches for them. */
  takeMany(count: number, options?: TakeOptions): Promise<JobLease[]>;
  /** Nothing may be given out now. */
  nothingComes(queues?: readonly string[]): Promise<void>;
  /** Reaps both queues. */
  reap(): Promise<void>;
  /** Nothing may be given out, however much time passes and however often it is reaped. */
  nothingEverComes(): Promise<void>;
  ack(lease: JobLease): Promise<boolean>;
  renew(lease: JobLease, leaseMs: number): Promise<boolean>;
}

export function createKit(bench: Bench, patienceMs: number, lacks: readonly Lack[] = []): Kit {
  const { backend, peer } = bench;
  const openings = peer ? [backend, peer] : [backend];
  // Queues that outlive one law may remember ids: no two benches share any.
  const series = Math.floor(Math.random() * 1e9).toString(36);
  let count = 0;

  const kit: Kit = {
    backend,
    openings,
    get admin() {
      assert.ok(backend.admin, `backend "${backend.name}" offers no admin and declares no lack of it`);
      return backend.admin;
    },
    get stores() {
      assert.ok(backend.stores, `backend "${backend.name}" offers no stores`);
      return backend.stores as Stores;
    },
    patienceMs,
    lacks: (topic) => lacks.includes(topic),
    now: () => bench.now(),
    advance: async (ms) => bench.advance(ms),
    message(change = {}) {
      count++;
      const id = change.id ?? `${series}-${count}`;
      const facts = { queue: mail, job: 'invoice.send', priority: 5, ...change };
      const { queue, job, priority } = facts;
      // As in an envelope: a queue that keeps nothing beside the body finds there what its lists have to say.
      const members = { v: 1, job, payload: { number: count }, queue, priority, identifier: id };
      const body = JSON.stringify(members);
      return { id, body, notBefore: null, group: null, tenantId: null, ...facts };
    },
    async put(change) {
      const message = kit.message(change);
      assert.deepEqual(await backend.enqueue([message]), [{ ok: true, id: message.id, duplicate: false }]);
      return message;
    },
    async take(options) {
      const [lease] = await kit.takeAll(1, options);
      assert.ok(lease, 'expected a message to be given out, got none');
      return lease;
    },
    takeAll: (max = 100, { queues: from = [mail], leaseMs = 10 * minute } = {}) =>
      backend.fetch({ queues: from, max, leaseMs, waitMs: patienceMs }),
    async takeMany(count, options) {
      const leases: JobLease[] = [];
      for (let last = count; last > 0 && leases.length < count; ) {
        const more = await kit.takeAll(count - leases.length, options);
        leases.push(...more);
        last = more.length;
      }
      assert.equal(leases.length, count, 'expected more messages to be given out');
      return leases;
    },
    async nothingComes(from = queues) {
      const leases = await backend.fetch({ queues: from, max: 100, leaseMs: minute, waitMs: 0 });
      assert.deepEqual(leases, [], 'expected nothing to be given out');
    },
    async reap() {
      for (const queue of queues) await backend.reapExpired(queue);
    },
    async nothingEverComes() {
      for (const ms of [0, second, hour, 30 * day]) {
        await bench.advance(ms);
        await kit.reap();
        await kit.nothingComes();
      }
    },
    ack: async (lease) => (await backend.ack([{ lease }]))[0] as boolean,
    renew: async (lease, leaseMs) => (await backend.renew([lease], leaseMs))[0] as boolean,
  };
  return kit;
}

/** The report of a worker about one run of a quarter of a second. */
export function reportOf(
  lease: JobLease,
  endedAt: number,
  outcome: Outcome,
  rest: Partial<AttemptReport> = {},
): AttemptReport {
  const startedAt = endedAt - 250;
  return { attempt: lease.attempt, startedAt, endedAt, outcome, error: null, output: null, ...rest };
}

export const bodiesOf = (items: readonly { readonly body: string }[]): string[] => items.map((i) => i.body);

export const idsOf = (items: readonly { readonly id: string }[]): string[] => items.map(({ id }) => id);
