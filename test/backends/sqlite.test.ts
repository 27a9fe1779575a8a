import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { describeBackend } from '../contract/backend.ts';
import type { Harness } from '../contract/harness.ts';
import { describeModel } from '../contract/model.ts';
import { describeStore } from '../contract/store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const harness: Harness = {
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

describeBackend('sqlite()', harness, { describe, it });
describeStore('sqlite()', harness, { describe, it });
describeModel('sqlite()', harness, { describe, it: (name, body) => it(name, body, 600_000) });
