import { describe, it } from 'vitest';
import { redis } from '../../../local/backends/redis/index.ts';
import { describeSequences } from '../../laws/sequences.ts';
import { describeBackend } from '../../testing/laws/backend.ts';
import type { Harness } from '../../testing/laws/harness.ts';
import { describeStore } from '../../testing/laws/store.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { freshRedis } from './database.ts';

const url = await freshRedis();
let laws = 0;

/** Two openings of one prefix, each with connections of its own. */
const harness: Harness = {
  lacks: ['purges of steps'],
  async open(options) {
    const clock = createVirtualClock();
    // It looks as seldom as with a connection that hears: so it is a message that wakes.
    const place = { url, prefix: `law-${++laws}`, clock, pollMs: 2_000, ...options };
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
describeSequences('redis()', harness);
