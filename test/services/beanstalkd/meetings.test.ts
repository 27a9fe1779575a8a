import { describe, it } from 'vitest';
import type { Clock } from '../../../core/base/clock.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { fewMeetings } from '../../laws/meeting-sample.ts';
import { describeMeetings } from '../../testing/meetings/index.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

/** The servers of the world, and what time they were told last. */
const told = new Map<BeanstalkdServer, number>();
let time: Clock | null = null;

/** Tells the servers the time; one that knows it is asked for nothing. */
async function echo(): Promise<void> {
  for (const [server, last] of told) {
    const now = time!.now();
    if (now === last) await server.count('current-waiting');
    else await server.setTime(now);
    told.set(server, now);
  }
}

/** A queue that keeps jobs and nothing else, on a server whose clock is that of the world: a fresh one, because it only runs forward. */
describeMeetings(
  'beanstalkd() with a store',
  {
    latencyMs: 4,
    echo,
    mayRefuse: true,
    takesTwice: true,
    asksAgainMs: 60_000,
    async open(clock) {
      time = clock;
      const server = await startBeanstalkd({ stopped: true, args: ['-z', '200000'] });
      await server.setTime(clock.now());
      told.set(server, clock.now());
      const store = memoryStore({ clock });
      const options = { url: server.url, prefix: 'world-', store, clock, maxBodyBytes: 200_000 };
      const openings = [beanstalkd(options), beanstalkd(options)];
      return {
        openings,
        async close() {
          for (const opening of openings) await opening.close();
          told.delete(server);
          await server.remove();
        },
      };
    },
  },
  { describe, it: (name, body) => it(name, body, 300_000) },
  fewMeetings(),
);
