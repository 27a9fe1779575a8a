import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { describeMeetings } from '../testing/meetings/index.ts';
import { meetingSample } from './meeting-sample.ts';

/** Where files are in memory, if there is such a place. */
const folders = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** Idle workers look so often: time is virtual, and each look takes some of ours. */
const pollMs = 1_000;

describeMeetings(
  'sqlite()',
  {
    async open(clock) {
      const folder = await mkdtemp(join(folders, 'longshore-'));
      const path = join(folder, 'jobs.db');
      const openings = [sqlite({ path, clock, pollMs }), sqlite({ path, clock, pollMs })];
      return {
        openings,
        async close() {
          for (const opening of openings) await opening.close();
          await rm(folder, { recursive: true });
        },
      };
    },
  },
  { describe, it },
  meetingSample(0.3),
);
