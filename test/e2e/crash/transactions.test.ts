import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { connect, startWorker } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../services/postgres/schemas.ts';
import { effectsTable, phases, transactionApp } from './transactions-app.ts';

const jobs = 40;
const leaseMs = 500;
/** What a transaction of a job sends, in this order. */
const statements = [
  /^BEGIN$/,
  /^INSERT INTO effects/,
  /^\s*SELECT "longshore"\.enqueue\(/,
  /^INSERT INTO effects/,
  /^SELECT .*"longshore"\.settle\(/,
  /^COMMIT; SELECT pg_advisory_unlock_all\(\)$/,
];

const database = await freshDatabase();
afterAll(() => database.drop());

/** Where a worker is killed. */
interface Boundary {
  readonly statement: number;
  readonly phase: number;
}

/** Runs a worker to its death and returns the statement it died at. */
async function kill({ statement, phase }: Boundary): Promise<string> {
  const args = [join(import.meta.dirname, 'transactions-worker.ts'), database.url, leaseMs, statement, phase];
  const end = await promisify(execFile)(process.execPath, args.map(String), { timeout: 120_000 }).catch(
    (error: { signal: string; killed: boolean; stdout: string; stderr: string }) => error,
  );
  // By itself: not because it took too long.
  expect(end).toMatchObject({ signal: 'SIGKILL', killed: false, stderr: '' });
  return end.stdout;
}

describe('workers that are killed inside the transaction of a job', () => {
  it('at every statement leave each effect exactly once', { timeout: 180_000 }, async () => {
    const { app, work } = transactionApp();
    const backend = postgres(database.url);
    await backend.migrate!();
    const pool = new pg.Pool({ connectionString: database.url, max: 2 });
    await pool.query(effectsTable);
    const client = connect(app, backend);
    const payloads = Array.from({ length: jobs }, (_, n) => ({ n }));
    const ids = (await client.enqueueMany(work, payloads)).map(({ id }) => id);

    const boundaries = statements.flatMap((_, statement) => phases.map((_, phase) => ({ statement, phase })));
    const diedAt = new Map<Boundary, string>();
    const left = [...boundaries];
    const killer = async () => {
      for (let next = left.pop(); next; next = left.pop()) diedAt.set(next, await kill(next));
    };
    await Promise.all([killer(), killer()]);
    for (const boundary of boundaries) expect(diedAt.get(boundary)).toMatch(statements[boundary.statement]!);

    const worker = startWorker(app, { backend, queues: ['default'], leaseMs });
    await until(async () => {
      const [stats] = await backend.admin!.stats('default');
      return stats!.ready + stats!.delayed + stats!.leased === 0;
    });
    await worker.stop();

    const { rows: effects } = await pool.query('SELECT n, half FROM effects ORDER BY n, half');
    expect(effects).toEqual(
      payloads.flatMap(({ n }) => [
        { n, half: 'first' },
        { n, half: 'second' },
      ]),
    );
    const followers = await backend.fetch({ queues: ['follow'], max: 1_000, leaseMs: 60_000, waitMs: 0 });
    const followed = followers.map(({ body }) => (JSON.parse(body) as { payload: { n: number } }).payload.n);
    expect(followed.toSorted((a, b) => a - b)).toEqual(payloads.map(({ n }) => n));

    expect(await backend.admin!.deadLetters.list({})).toEqual([]);
    const { rows: keys } = await pool.query(
      `SELECT done, count(*)::int AS n FROM longshore.keys
        WHERE key NOT LIKE 'leader:%' -- that of a worker that led when it was killed stays until its end
        GROUP BY done`,
    );
    expect(keys).toEqual([{ done: true, n: jobs / 2 }]);
    const records = await Promise.all(ids.map((id) => client.status(id)));
    expect(records.filter((record) => record?.status !== 'completed')).toEqual([]);
    const interrupted = records
      .flatMap((record) => record!.attempts)
      .filter((one) => one.outcome === 'interrupted');
    // All but those that died with their COMMIT on its way, which may have been done, or answered, which was.
    expect(interrupted.length).toBeGreaterThanOrEqual(boundaries.length - 2);
    // Nothing of the dead is left in the server: neither a transaction nor a lease.
    const open = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND xact_start < now()`;
    expect((await pool.query(open)).rows).toEqual([]);
    expect((await pool.query('SELECT FROM longshore.renewals')).rows).toEqual([]);
    await pool.end();
    await client.close();
  });
});
