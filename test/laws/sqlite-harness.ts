import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';

export const sqliteHarness: Harness = {
  lacks: ['ends elsewhere'],
  async open(options) {
    const folder = await mkdtemp(join(tmpdir(), 'longshore-'));
    const clock = createVirtualClock();
    const path = join(folder, 'jobs.db');
    const [backend, peer] = [sqlite({ path, clock, ...options }), sqlite({ path, clock, ...options })];
    return {
      backend,
      peer,
      now: clock.now,
      advance: clock.advance,
      async close() {
        await backend.close();
        await peer.close();
        await rm(folder, { recursive: true });
      },
    };
  },
};
