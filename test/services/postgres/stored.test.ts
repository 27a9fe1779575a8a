import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { readAndRun } from '../../kit/stored/whole.ts';
import { runSql } from './load.ts';
import { freshDatabase } from './schemas.ts';

it('a Postgres database of version 0.1 is migrated, read and run', async () => {
  const { url, drop } = await freshDatabase();
  await runSql(url, readFileSync(join(import.meta.dirname, '../../kit/stored/jobs-0.1.sql'), 'utf8'));
  await readAndRun((clock) => postgres({ url, clock }));
  await drop();
});
