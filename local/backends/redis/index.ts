/**
 * A queue in Redis 6.2 or newer, or Valkey: any number of processes and hosts, quick, and as durable as the server's
 * append-only file.
 */

import { checkInteger } from '../../../core/base/checks.ts';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { createWaiters } from '../shared/waiters.ts';
import { redisAdmin } from './admin.ts';
import { createLink, type Link, type RedisConnectionOptions } from './connection.ts';
import { createEnqueue } from './enqueue.ts';
import { redisKeys } from './keys.ts';
import { redisRecords } from './records.ts';
import { createListener } from './ring.ts';
import { scripts } from './scripts.ts';
import { createServerCheck } from './server.ts';
import { createWorker } from './work.ts';
import { redisWorkers } from './workers.ts';

/** What a queue keeps of ended jobs, beside their retention: the oldest go when there are more. */
export interface RedisBudget {
  readonly count: number;
  readonly bytes: number;
}

export interface RedisOptions {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  readonly url: string;
  /** What `createClient` of `@redis/client` takes beside the URL, such as `{ socket: { ca } }`. */
  readonly connection?: RedisConnectionOptions;
  /** All keys begin with it. @default 'longshore' */
  readonly prefix?: string;
  /** `false`: no PUBLISH and no SUBSCRIBE, as where a user may not. @default true */
  readonly listen?: boolean;
  /** How often an idle worker looks for jobs while it cannot listen. @default 100 */
  readonly pollMs?: number;
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** Of each queue. @default 100_000 jobs and 64 MiB */
  readonly completedBudget?: Partial<RedisBudget>;
  /** Of each queue. @default 100_000 jobs and 256 MiB */
  readonly deadBudget?: Partial<RedisBudget>;
  /** How much later a job is ranked per priority level. @default 3_600_000 */
  readonly ageingMs?: number;
  readonly maxBodyBytes?: number;
  /** A server that owes an answer for so long is given up, and connected to anew. @default 10_000 */
  readonly silenceMs?: number;
  /** Told what endangers jobs: a server that evicts keys, dead letters over their budget. @default process.emitWarning */
  readonly warn?: (message: string) => void;
  /** For tests. @default the server's clock */
  readonly clock?: Clock;
}

/** What the parts of the backend share. */
export interface RedisState {
  readonly link: Link;
  readonly clock: Clock;
  readonly prefix: string;
  readonly retention: Retention;
  /** Whether completed jobs are kept at all. */
  readonly keep: boolean;
  readonly ageingMs: number;
  /** Epoch ms for a test; '' = the server's clock rules. */
  at(): string;
  /** What the keys of a queue begin with. */
  base(queue: string): string;
  /** Where its workers listen; '' = nobody shall be notified. */
  channel(queue: string): string;
  /** Where an idempotency key is stored. */
  key(key: string): string;
  /** The first arguments of `work` and `manage`. */
  common(): string[];
  manage(during: string, queue: string, what: string, args: readonly string[]): Promise<unknown>;
  /** All queues ever used. `recently`: as they were known a second ago is good enough. */
  queues(recently?: boolean): Promise<string[]>;
  /** Enters the queue into the list of all; `null` = it is there. */
  know(queue: string): Promise<void> | null;
  /** Lets waiting fetches of this process look again. */
  wake(): void;
  /** Old dead letters had to go for a new one. */
  dropped(queue: string): void;
}

/** Though it listens, an idle worker looks this often: a message can be lost with its connection. */
const safetyPollMs = 2_000;
const repeatWarningMs = 60_000;
const mebibyte = 1024 * 1024;
const completedDefault = { count: 100_000, bytes: 64 * mebibyte };
const deadDefault = { count: 100_000, bytes: 256 * mebibyte };

export function redis(urlOrOptions: string | RedisOptions): QueueBackend {
  const options = typeof urlOrOptions === 'string' ? { url: urlOrOptions } : urlOrOptions;
  const { url, connection = {}, prefix = 'longshore', listen = true, pollMs = 100 } = options;
  const { silenceMs = 10_000, clock = systemClock, ageingMs = backendDefaults.ageingMs } = options;
  const { maxBodyBytes = backendDefaults.maxBodyBytes } = options;
  const { warn = (message: string) => process.emitWarning(message, { code: 'LONGSHORE_REDIS' }) } = options;
  const completed = { ...completedDefault, ...options.completedBudget };
  const dead = { ...deadDefault, ...options.deadBudget };
  if (typeof url !== 'string' || url === '') throw config(`redis() expects a URL, got ${shown(url)}.`);
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,100}$/.test(prefix)) {
    throw config(`redis() expects prefix to be 1 to 100 of A-Z a-z 0-9 . _ : -, got ${shown(prefix)}.`);
  }
  checkInteger('pollMs of redis()', pollMs, 1);
  checkInteger('ageingMs of redis()', ageingMs, 0);
  checkInteger('silenceMs of redis()', silenceMs, 100);
  for (const [name, budget] of Object.entries({ completedBudget: completed, deadBudget: dead })) {
    checkInteger(`${name}.count of redis()`, budget.count, 1);
    checkInteger(`${name}.bytes of redis()`, budget.bytes, 1);
  }

  const waiters = createWaiters(clock);
  const place = { ...connection, url, silenceMs };
  let known = new Set<string>();
  let knownAt = Number.NEGATIVE_INFINITY;
  const link = createLink({
    ...place,
    greet: createServerCheck({ prefix, warn }),
    lost: () => {
      known = new Set(); // the server may have lost them
      knownAt = Number.NEGATIVE_INFINITY;
    },
  });
  const retention = { ...backendDefaults.retention, ...options.retention };
  const list = `${prefix}:queues`;
  const limits = [completed.count, completed.bytes, dead.count, dead.bytes].map(String);
  const settings = [`${ageingMs}`, retention.completedMs > 0 ? '1' : '0', ...limits];
  const droppedAt = new Map<string, number>();
  let open = true;

  const state: RedisState = {
    link,
    clock,
    prefix,
    retention,
    keep: retention.completedMs > 0,
    ageingMs,
    at: () => (options.clock ? `${Math.floor(clock.now())}` : ''),
    base: (queue) => `${prefix}:{${queue}}`,
    channel: (queue) => (listen ? `${prefix}:{${queue}}:ring` : ''),
    key: (key) => `${prefix}:key:${key}`,
    common: () => [state.at(), ...settings],
    manage: (during, queue, what, args) =>
      link.run(during, scripts.manage, state.base(queue), [...state.common(), what, ...args]),
    async queues(recently = false) {
      if (recently && performance.now() - knownAt < 1_000) return [...known];
      const names = (await link.send('listing queues', ['SMEMBERS', list])) as string[];
      known = new Set(names);
      knownAt = performance.now();
      return names.sort();
    },
    know(queue) {
      if (known.has(queue)) return null;
      return link.send('enqueueing', ['SADD', list, queue]).then(() => void known.add(queue));
    },
    wake: () => waiters.wake(),
    dropped(queue) {
      const now = performance.now();
      if (now - (droppedAt.get(queue) ?? Number.NEGATIVE_INFINITY) < repeatWarningMs) return;
      droppedAt.set(queue, now);
      warn(
        `Queue "${queue}" has more dead letters than its budget allows: the oldest are removed for new ones. ` +
          'Retry or discard dead letters, or raise deadBudget of redis().',
      );
    },
  };
  const { ack, nack, abandon, renew, reapExpired, ackAndFetch, claim } = createWorker(state);
  const listener = createListener(place, waiters);

  return {
    name: 'redis',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    stores: { keys: redisKeys(state), records: redisRecords(state), workers: redisWorkers(state) },
    admin: redisAdmin(state, maxBodyBytes),
    ack,
    nack,
    abandon,
    renew,
    reapExpired,
    hints: { ackAndFetch },
    enqueue: createEnqueue(state, maxBodyBytes),

    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      const channels = queues.map(state.channel);
      let missed = false;
      for (;;) {
        const now = clock.now();
        const wakes = waiters.wakes;
        const listens = listen && now < until && !signal?.aborted;
        const claimed = await claim({ queues, max, leaseMs }, listens).catch((error) => {
          if (open) throw error;
        });
        if (!claimed) return [];
        const { leases, nextDueMs } = claimed;
        if (missed && leases.length > 0) listener.doubt();
        if (leases.length > 0 || clock.now() >= until || signal?.aborted || !open) return leases;
        if (listen) listener.start(channels);
        const hears = listen && listener.hears(channels);
        const due = nextDueMs === null ? until : now + Math.max(1, nextDueMs);
        const poll = clock.now() + (hears ? safetyPollMs : pollMs);
        const next = Math.min(poll, due, until);
        if (waiters.wakes === wakes) await waiters.wait(next - clock.now(), signal);
        missed = hears && waiters.wakes === wakes && clock.now() >= poll;
        if (!open) return [];
      }
    },

    async close() {
      if (!open) return;
      open = false;
      waiters.wake();
      await listener.close();
      await link.close();
    },
  };
}
