import { describe, it } from 'vitest';
import type { Clock } from '../../../core/base/clock.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { describeSequences } from '../../laws/sequences.ts';
import { describeBackend } from '../../testing/laws/backend.ts';
import type { Harness, OpenOptions } from '../../testing/laws/harness.ts';
import { describeStore } from '../../testing/laws/store.ts';
import type { StoreHarness } from '../../testing/laws/store-alone.ts';
import { describeTexts } from '../../testing/laws/texts.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { freshRedis } from './database.ts';

const url = await freshRedis();
let laws = 0;

/** Two openings of one prefix, each with connections of its own. */
const harness: Harness = {
  async open(options) {
    const clock = createVirtualClock();
    return { ...openedAt(clock, options), now: clock.now, advance: clock.advance };
  },
};

function openedAt(clock: Clock, options: OpenOptions = {}) {
  // It looks as seldom as with a connection that hears: so it is a message that wakes.
  const place = { url, prefix: `law-${++laws}`, clock, pollMs: 2_000, ...options };
  const [backend, peer] = [redis(place), redis(place)];
  const close = async () => {
    await backend.close();
    await peer.close();
  };
  return { backend, peer, close };
}

const texts: StoreHarness = {
  async open(clock) {
    const { backend, peer, close } = openedAt(clock);
    return { stores: backend.stores!, peer: peer.stores!, close };
  },
};

describeBackend('redis()', harness, { describe, it });
describeStore('redis()', harness, { describe, it });
describeTexts('redis()', texts, { describe, it });
describeSequences('redis()', harness);
