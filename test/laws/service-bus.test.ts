import { describe, it } from 'vitest';
import { serviceBus } from '../../functions/azure/service-bus/index.ts';
import { memoryStore } from '../../local/backends/memory/index.ts';
import { startServiceBus } from '../../local/simulate/service-bus/server.ts';
import { describeBackend } from '../testing/laws/backend.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { minute, queues } from '../testing/laws/kit.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';

const harness: Harness = {
  lacks: ['waking', 'order', 'duplicates', 'administration', 'transfer', 'waiting jobs', 'groups'],
  async open() {
    const clock = createVirtualClock();
    const server = await startServiceBus({ clock });
    for (const queue of queues) {
      server.createQueue(queue, { lockMs: 5 * minute, duplicateWindowMs: 10 * minute });
    }
    const options = {
      connectionString: server.connectionString,
      queues,
      keys: memoryStore({ clock }).keys,
      longPollMs: 1_000,
      maxRetries: 0,
      clock,
    };
    const backend = serviceBus(options);
    const peer = serviceBus(options);
    return {
      backend,
      peer,
      now: clock.now,
      advance: clock.advance,
      async close() {
        await backend.close();
        await peer.close();
        await server.stop();
      },
    };
  },
};

// At the same time, because a receiver of the SDK waits for real seconds.
describeBackend('serviceBus()', harness, { describe, it: it.concurrent });
