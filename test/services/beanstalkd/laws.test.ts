import { afterAll, describe, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { describeSequences } from '../../laws/sequences.ts';
import { describeBackend } from '../../testing/laws/backend.ts';
import type { Harness } from '../../testing/laws/harness.ts';
import { day, second } from '../../testing/laws/kit.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { startBeanstalkd } from './server.ts';

const server = await startBeanstalkd({ stopped: true, args: ['-z', '200000'] });
afterAll(() => server.remove());
let laws = 0;
/** A server's clock must not run backwards, so every law begins when the one before it has ended. */
let now = Date.UTC(2026, 0, 15, 12);

/** A real server whose clock moves with that of the law, and two openings of the same tubes. */
const harness: Harness = {
  lacks: [
    'duplicates',
    'waking',
    'transfer',
    'use elsewhere',
    'sight',
    'place of the retried',
    'waiting jobs',
    'groups',
  ],
  storeStandsAlone: true,
  grainMs: second,
  async open() {
    const clock = createVirtualClock(now);
    await server.setTime(now);
    const prefix = `law-${++laws}-`;
    const store = memoryStore({ clock });
    const options = { url: server.url, prefix, store, clock, ttrMs: 100 * day, maxBodyBytes: 200_000 };
    const [backend, peer] = [open(), open()];
    function open(): QueueBackend {
      const opened = beanstalkd(options);
      const admin = opened.admin!;
      const setPaused = (queue: string, isPaused: boolean) =>
        admin.setPaused(queue, isPaused).then(() => server.setTime(clock.now()));
      return { ...opened, admin: { ...admin, setPaused } };
    }
    return {
      backend,
      peer,
      now: clock.now,
      async advance(ms) {
        clock.advance(ms);
        await server.setTime(clock.now());
      },
      async close() {
        await backend.close();
        await peer.close();
        now = Math.ceil(clock.now() / 1_000) * 1_000;
      },
    };
  },
};

describeBackend('beanstalkd()', harness, { describe, it });
/** Each takes tens of ms: its server is told the time through a file. */
const share = 0.15;
describeSequences('beanstalkd()', harness, share);
