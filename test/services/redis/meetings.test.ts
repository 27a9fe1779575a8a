import { createClient } from '@redis/client';
import { afterAll, describe, it } from 'vitest';
import { redis } from '../../../local/backends/redis/index.ts';
import { fewMeetings } from '../../laws/meeting-sample.ts';
import { describeMeetings } from '../../testing/meetings/index.ts';
import { freshRedis } from './database.ts';

const url = await freshRedis();
const side = await createClient({ url }).connect();
afterAll(() => side.close());
let worlds = 0;

describeMeetings(
  'redis()',
  {
    latencyMs: 4,
    echo: () => side.ping(),
    async open(clock) {
      const place = { url, prefix: `world-${++worlds}`, clock, pollMs: 2_000 };
      const openings = [redis(place), redis(place)];
      return {
        openings,
        async close() {
          for (const opening of openings) await opening.close();
        },
      };
    },
  },
  { describe, it: (name, body) => it(name, body, 300_000) },
  fewMeetings(),
);
