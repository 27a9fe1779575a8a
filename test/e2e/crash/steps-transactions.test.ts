/** Workers that are killed at every statement of a step with a transaction: its row and its memory are both there, or neither. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { nameOfJob, stepsIn } from '../../../core/features/steps/stored.ts';
import { connect, startWorker } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { freshDatabase } from '../../services/postgres/schemas.ts';
import { effectsTable, phases, stepTransactionApp } from './transactions-app.ts';

const leaseMs = 500;
/** What the second step sends, in this order. */
const statements = [
  /^BEGIN$/,
  /^INSERT INTO effects/,
  /^\s*SELECT FROM "longshore"\.jobs .* FOR SHARE/s,
  /^UPDATE "longshore"\.texts/,
  /^COMMIT; SELECT pg_advisory_unlock_all\(\)$/,
];

const database = await freshDatabase();
afterAll(() => database.drop());

describe('workers that are killed inside the transaction of a step', () => {
  it('leave what it writes and its memory, or neither of them', { timeout: 180_000 }, async () => {
    const { app, work } = stepTransactionApp();
    const backend = postgres(database.url);
    await backend.migrate!();
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    await pool.query(effectsTable);
    const client = connect(app, backend);
    const halves = async (n: number) =>
      (await pool.query('SELECT half FROM effects WHERE n = $1 ORDER BY half', [n])).rows.map(
        ({ half }) => half as string,
      );

    let n = 0;
    for (const [statement, pattern] of statements.entries()) {
      for (const [phase, when] of phases.entries()) {
        if (phase === 0 && statement > 0) continue; // as after the answer to the one before
        const { id } = await client.enqueue(work, { n: ++n });
        const script = join(import.meta.dirname, 'transactions-worker.ts');
        const args = [script, database.url, leaseMs, statement, phase, 'steps'].map(String);
        const end = await promisify(execFile)(process.execPath, args, { timeout: 60_000 }).catch(
          (error: { signal: string; killed: boolean; stdout: string; stderr: string }) => error,
        );
        expect(end).toMatchObject({ signal: 'SIGKILL', killed: false, stderr: '' });
        expect(end.stdout).toMatch(pattern);
        const left = async () =>
          stepsIn((await client.stores.steps!.read(nameOfJob(id)))?.text ?? null).map(({ name }) => name);
        // A commit that was on its way when its worker died may come to be in this moment.
        await expect.poll(async () => [when, await left()]).toEqual([when, await halves(n)]);
        if (when === 'after it is answered' && statement === statements.length - 1)
          expect(await left()).toEqual(['first', 'second']);
        const worker = startWorker(app, { backend, queues: ['default'], leaseMs, concurrency: 1 });
        await client.result(work, id, { timeoutMs: 60_000 }).finally(() => worker.stop());
        expect([when, ...(await halves(n))]).toEqual([when, 'first', 'second']);
      }
    }
    const open = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND xact_start < now()`;
    expect((await pool.query(open)).rows).toEqual([]);
    await pool.end();
    await client.close();
  });
});
