import { afterAll, describe, it } from 'vitest';
import { redis } from '../../local/backends/redis/index.ts';
import { describeBackend } from '../contract/backend.ts';
import type { Harness } from '../contract/harness.ts';
import { describeModel } from '../contract/model.ts';
import { describeStore } from '../contract/store.ts';
import { startRedis } from '../redis/server.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const server = await startRedis();
afterAll(() => server.remove());
let laws = 0;

/** Two openings of one prefix, each with connections of its own. */
const harness: Harness = {
  async open(options) {
    const clock = createVirtualClock();
    const place = { url: server.url, prefix: `law-${++laws}`, clock, ...options };
    const [backend, peer] = [redis(place), redis(place)];
    return {
      backend,
      peer,
      now: clock.now,
      advance: clock.advance,
      async close() {
        await backend.close();
        await peer.close();
      },
    };
  },
};

describeBackend('redis()', harness, { describe, it });
describeStore('redis()', harness, { describe, it });
describeModel('redis()', harness, { describe, it: (name, body) => it(name, body, 600_000) });
