/** A queue in Redis 6.2 or newer, or Valkey: any number of processes and hosts, and as durable as the server's append-only file. */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import { createWarnings } from '../../../core/kit/warnings.ts';
import { createWaiters } from '../shared/waiters.ts';
import { redisAdmin } from './admin.ts';
import { createEnqueue } from './enqueue.ts';
import { createFetch } from './fetch.ts';
import { redisKeys } from './keys.ts';
import { createLeases } from './leases.ts';
import { createListener } from './listener.ts';
import { type RedisOptions, resolveOptions } from './options.ts';
import { redisRecords } from './records.ts';
import { createSettler } from './settle.ts';
import { createState } from './state.ts';
import { redisWorkers } from './workers.ts';

export type { RedisBudget, RedisOptions } from './options.ts';

export function redis(urlOrOptions: string | RedisOptions): QueueBackend {
  const options = resolveOptions(urlOrOptions);
  const { clock, listen, pollMs, maxBodyBytes } = options;
  const { warn, onWarning } = createWarnings();
  const waiters = createWaiters(clock);
  const state = createState(options, waiters, warn);
  const leases = createLeases(state);
  const { ackAndFetch, ...settler } = createSettler(state, leases);
  const listener = listen ? createListener(options.link, waiters) : null;
  let open = true;

  return {
    name: 'redis',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    stores: { keys: redisKeys(state), records: redisRecords(state), workers: redisWorkers(state) },
    admin: redisAdmin(state),
    ...settler,
    hints: { ackAndFetch },
    enqueue: createEnqueue(state),
    fetch: createFetch({ state, lease: leases.lease, waiters, listener, pollMs, isOpen: () => open }),
    onWarning,

    async close() {
      if (!open) return;
      open = false;
      waiters.wake();
      await listener?.close();
      await state.link.close();
    },
  };
}
