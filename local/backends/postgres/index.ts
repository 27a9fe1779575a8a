/**
 * A queue in Postgres 13 or newer: durable, for any number of processes and hosts. Jobs can be enqueued and settled in the same
 * transactions as the application's own data. The tables have their own schema.
 */

import { checkInteger } from '../../../core/base/checks.ts';
import { type Clock, sleep, systemClock } from '../../../core/base/clock.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import type { OutboxSource } from '../../outbox/outbox.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { createLooksInVain } from '../shared/looks-in-vain.ts';
import { createNotifier, noNotifier } from '../shared/notifier.ts';
import { probeKeys } from '../shared/probe.ts';
import { createWaiters } from '../shared/waiters.ts';
import { postgresAdmin } from './admin.ts';
import { postgresBatches } from './batches.ts';
import { type DatabaseOptions, openDatabase } from './database.ts';
import { createEnqueue } from './enqueue.ts';
import { createFloors } from './front.ts';
import { postgresKeys } from './keys.ts';
import { createLeases } from './leases.ts';
import { postgresLimits } from './limits.ts';
import {
  cancelPayload,
  channelOf,
  createListener,
  idlePollMs,
  lookBackPayload,
  notifyGapMs,
  postgresEnds,
} from './listen.ts';
import { postgresMetrics } from './metrics.ts';
import { createOutbox } from './outbox.ts';
import { postgresRecords } from './records.ts';
import type { PostgresState } from './state.ts';
import { postgresTexts } from './texts.ts';
import { createTransactions } from './transactions.ts';
import { postgresWaiting } from './waiting.ts';

export type { Stores } from '../../../core/contract/store.ts';
export { type Outbox, type OutboxOptions, outbox } from '../../outbox/outbox.ts';
export { type Relay, type RelayOptions, type RelaySummary, startRelay } from '../../outbox/relay.ts';
export { drizzleTx, kyselyTx, prismaTx } from './adapters.ts';
export { type PostgresStoreOptions, postgresStore } from './store.ts';

export interface PostgresOptions extends DatabaseOptions {
  /**
   * LISTEN keeps one connection of the pool, if the pool has 3 or more. Waiting for results keeps another, if the pool has 5 or more.
   * `false`: no LISTEN and no NOTIFY, as behind pgbouncer in transaction mode. @default true
   */
  readonly listen?: boolean;
  /** How often an idle worker looks for jobs while it cannot listen, ms. @default 100 */
  readonly pollMs?: number;
  /** How long ended jobs are kept. @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** How much later a job is ranked per priority level, ms. @default 3_600_000 */
  readonly ageingMs?: number;
  /** Largest body of a job, bytes. A larger one is refused with `LIMIT`. @default 1_048_576 */
  readonly maxBodyBytes?: number;
  /** For tests. @default the database's clock */
  readonly clock?: Clock;
}

/** A queue in Postgres, which is also the source of an outbox: `outbox(postgres(url), { to })`. */
export interface PostgresBackend extends OutboxSource {}

/** For LISTEN, a job's transaction and renewals of leases. With fewer connections an idle worker polls. */
const fewestToListen = 3;

export function postgres(urlOrOptions: string | PostgresOptions): PostgresBackend {
  const options = typeof urlOrOptions === 'string' ? { url: urlOrOptions } : urlOrOptions;
  const { schema = 'longshore', listen = true, pollMs = 100, clock = systemClock } = options;
  const { maxBodyBytes = backendDefaults.maxBodyBytes, ageingMs = backendDefaults.ageingMs } = options;
  checkInteger('pollMs of postgres()', pollMs, 1);
  checkInteger('ageingMs of postgres()', ageingMs, 0);

  const waiters = createWaiters(clock);
  const looks = createLooksInVain(clock);
  const db = openDatabase(options);
  const channel = channelOf(schema);
  const cancelHearers = new Set<() => void>();
  const floors = createFloors();
  function lookBack(): void {
    floors.lookBack();
    waiters.wake();
  }
  const listener = createListener(db, channel, {
    wake(payload) {
      if (payload === undefined || payload === lookBackPayload) lookBack();
      else if (payload !== cancelPayload) waiters.wake(payload);
      if (payload === undefined || payload === cancelPayload)
        for (const cancelled of cancelHearers) cancelled();
    },
  });
  const notify = async (queues: readonly string[]): Promise<void> => {
    const sql = 'SELECT pg_notify($1, queue) FROM unnest($2::text[]) queue';
    if (listen) await db.query('notifying', sql, [channel, queues]);
  };
  const notifier = listen ? createNotifier(notifyGapMs, notify) : noNotifier;
  const listens = listen && db.connections >= fewestToListen;
  const retention = { ...backendDefaults.retention, ...options.retention };
  let open = true;

  const state: PostgresState = {
    db,
    clock,
    retention,
    keep: retention.completedMs > 0,
    ageingMs,
    channel: listen ? channel : null,
    knownQueues: new Set(),
    at: () => (options.clock ? clock.now() : null),
    delayOf: ({ notBefore }) => (notBefore === null ? 0 : Math.max(0, Math.ceil(notBefore - clock.now()))),
    notifier,
    notify,
    floors,
    wake: (queue) => (queue === lookBackPayload ? lookBack() : waiters.wake(queue)),
    wakeAll(queues) {
      for (const queue of queues) {
        waiters.wake(queue);
        notifier.owe(queue);
      }
    },
  };
  const leases = createLeases(state);
  const keys = postgresKeys(state);
  const ends = postgresEnds(state, listen);
  const outboxRows = createOutbox(state, schema, listens, pollMs);
  const { ack, nack, abandon, renew, ackAndFetch, reapExpired } = leases;

  return {
    name: 'postgres',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    keepsOrder: () => true,
    stores: {
      keys,
      records: postgresRecords(state, ends),
      ...storesOf(postgresTexts(state), clock),
      metrics: postgresMetrics(state),
      limits: postgresLimits(state),
      batches: postgresBatches(state),
      migrate: () => db.migrate(),
    },
    admin: {
      ...postgresAdmin(state, maxBodyBytes),
      probe: probeKeys(keys, clock),
      async diagnose(request) {
        const { postgresDiagnosis } = await import('./diagnose.ts');
        return postgresDiagnosis({ db, caller: 'postgres()', retention, channel: state.channel }, request);
      },
    },
    ack,
    nack,
    abandon,
    renew,
    reapExpired,
    hints: {
      ackAndFetch,
      reapsForAll: true,
      freeWaits: true,
      watchLeases({ cancelled }) {
        cancelHearers.add(cancelled);
        return {
          get hearsCancels() {
            if (listens && open) listener.start();
            return listener.hears;
          },
          stop: () => cancelHearers.delete(cancelled),
        };
      },
    },
    enqueue: createEnqueue(state, maxBodyBytes),
    ...createTransactions(state, leases, maxBodyBytes),
    outbox: outboxRows.table,
    pending: postgresWaiting(state, maxBodyBytes),
    migrate: () => db.migrate(),

    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      /** Other idle workers look at this moment, too. */
      let isTogether = false;
      for (;;) {
        const now = clock.now();
        const wakes = waiters.wakes(queues);
        const leased = await leases.lease({ queues, max, leaseMs }).catch((error) => {
          if (open) throw error;
        });
        if (!leased) return [];
        const { leases: found, nextLookMs } = leased;
        if (isTogether) looks.looked(found.length > 0);
        if (found.length > 0 || clock.now() >= until || signal?.aborted || !open) return found;
        if (listens) listener.start();
        const lookAt = nextLookMs === null ? until : now + Math.max(1, nextLookMs);
        const poll = clock.now() + idlePollMs(listener, pollMs);
        const hears = listener.hears;
        if (waiters.wakes(queues) === wakes)
          await waiters.wait(Math.min(poll, lookAt, until) - clock.now(), signal, queues);
        if (!open) return [];
        isTogether = waiters.wakes(queues) !== wakes || (nextLookMs !== null && clock.now() >= lookAt);
        if (isTogether) await sleep(clock, looks.waitMs(), signal);
        // Notifications worked during the wait and none came, so the queues need no other look before the caller's next fetch.
        const isOver = clock.now() >= until && (nextLookMs === null || lookAt > until);
        if (hears && listener.hears && isOver && waiters.wakes(queues) === wakes) return [];
      }
    },

    async close() {
      if (!open) return;
      open = false;
      waiters.wake();
      await notifier.close();
      await outboxRows.close();
      await ends?.close();
      await listener.close();
      await db.close();
    },
  };
}
