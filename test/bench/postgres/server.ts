/** A server of the benchmark's own, as it is shipped: nothing tuned, every commit on disk. */

import { readFileSync } from 'node:fs';
import pg from 'pg';
import { startCluster } from '../../services/postgres/cluster.ts';
import type { Usage } from '../kit/fleet.ts';
import type { BenchServer } from '../kit/network.ts';

/** What the tests' server has otherwise than Postgres is shipped. */
const shipped = { max_connections: '100', wal_level: 'replica', max_wal_senders: '10' };

export interface Server extends BenchServer {
  usage(): Promise<Usage>;
}

/** @param settings that differ from the shipped ones */
export async function startServer(settings: Readonly<Record<string, string>> = {}): Promise<Server> {
  const cluster = await startCluster({ fsync: true, settings: { ...shipped, ...settings } });
  const admin = new pg.Client(cluster.superuserUrl.replace(/[^/]*$/, 'longshore'));
  await admin.connect();
  const serverPid = await postmasterPid(admin);
  let places = 0;
  return {
    async at(use, history = false) {
      const schema = `bench_${++places}_`;
      // So that no checkpoint of what was before falls into the measurement.
      await admin.query('CHECKPOINT');
      try {
        return await use({ url: cluster.url, schema, history, serverPid });
      } finally {
        await drop(admin, schema);
      }
    },
    async usage() {
      await admin.query('SELECT pg_stat_clear_snapshot()');
      const { rows } = await admin.query(`
        SELECT xact_commit + xact_rollback AS statements, tup_returned + tup_fetched AS rows, numbackends - 1 AS connections
        FROM pg_stat_database WHERE datname = current_database()`);
      const [{ statements, rows: read, connections }] = rows;
      return { statements: Number(statements), rows: Number(read), connections: Number(connections) };
    },
    async stop() {
      await admin.end();
      await cluster.remove();
    },
  };
}

/** The process that all connections are children of, where the system shows it. */
async function postmasterPid(admin: pg.Client): Promise<number | null> {
  const { rows } = await admin.query('SELECT pg_backend_pid() AS pid');
  try {
    const [, parent] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${rows[0].pid}/status`, 'utf8')) ?? [];
    return Number(parent);
  } catch {
    return null;
  }
}

/** With those that were made for warming up. */
async function drop(admin: pg.Client, schema: string): Promise<void> {
  const { rows } = await admin.query('SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)', [
    schema,
  ]);
  for (const { nspname } of rows) await admin.query(`DROP SCHEMA ${nspname} CASCADE`);
}
