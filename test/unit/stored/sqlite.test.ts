import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { readAndRun } from '../../kit/stored/whole.ts';

it('a SQLite file of version 0.1 is read and run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-stored-'));
  const path = join(folder, 'jobs.db');
  copyFileSync(join(import.meta.dirname, '../../kit/stored/jobs-0.1.db'), path);
  try {
    await readAndRun((clock) => sqlite({ path, clock }));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
