import { describe, it } from 'vitest';
import { serviceBus } from '../../functions/azure/service-bus/index.ts';
import { memoryStore } from '../../local/backends/memory/index.ts';
import { startServiceBus } from '../../local/simulate/service-bus/server.ts';
import { describeMeetings } from '../testing/meetings/index.ts';
import { fewMeetings } from './meeting-sample.ts';

/** A queue that copies what waits, and keeps nothing of its jobs: the store beside it does. */
describeMeetings(
  'serviceBus()',
  {
    latencyMs: 8,
    mayRefuse: true,
    asksAgainMs: 60_000,
    async open(clock) {
      const server = await startServiceBus({ clock });
      server.createQueue('work', { lockMs: 60_000, duplicateWindowMs: 600_000 });
      const stores = memoryStore({ clock });
      const options = {
        connectionString: server.connectionString,
        queues: ['work'],
        keys: stores.keys,
        clock,
      };
      const openings = [1, 2].map(() => ({ ...serviceBus({ ...options, longPollMs: 1_000 }), stores }));
      return {
        openings,
        async close() {
          for (const opening of openings) await opening.close();
          await server.stop();
        },
      };
    },
  },
  { describe, it: (name, body) => it(name, body, 300_000) },
  fewMeetings(),
);
