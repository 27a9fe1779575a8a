/** The worker that does the chores is killed, or frozen: another one does them. */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { connect, createApp, keyRing } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../services/postgres/schemas.ts';
import { leaderJob } from './leader-job.ts';

const database = await freshDatabase();
const pool = new pg.Pool({ connectionString: database.url, max: 2 });
const children: ChildProcess[] = [];
const backend = postgres(database.url);
const app = createApp({ jobs: [leaderJob], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
const client = connect(app, backend);

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await client.close();
  await pool.end();
  await database.drop();
});

/** The child that leads and is none of these; waits for one. */
function leader(others: readonly (ChildProcess | undefined)[] = []): Promise<ChildProcess> {
  return until(async () => {
    const { rows } = await pool.query(
      `SELECT owner FROM longshore.keys WHERE key LIKE 'leader:%' AND hold_until > extract(epoch FROM clock_timestamp()) * 1000`,
    );
    const beat = (await backend.stores!.workers!.list(0)).find(({ id }) => id === rows[0]?.owner);
    return children.find((child) => child.pid === beat?.pid && !others.includes(child));
  });
}

it('leads instead, and one that wakes from a freeze does no harm', { timeout: 120_000 }, async () => {
  await backend.migrate!();
  const script = join(import.meta.dirname, 'leader-worker.ts');
  for (let n = 0; n < 3; n++)
    children.push(
      spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, database.url], {
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
    );
  const killed = await leader();
  killed.kill('SIGKILL');
  const frozen = await leader([killed]);

  frozen.kill('SIGSTOP');
  const heir = await leader([killed, frozen]);
  frozen.kill('SIGCONT');
  const { id } = await client.enqueue(leaderJob, {});
  expect([frozen.pid, heir.pid]).toContain(await client.result(leaderJob, id, { timeoutMs: 30_000 }));
  expect(await leader()).toBe(heir);
});
