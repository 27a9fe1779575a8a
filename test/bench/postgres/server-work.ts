/** What the server did for the jobs, by its own statistics: they are the same however busy the machine is. */

import pg from 'pg';
import type { Place } from '../kit/contender.ts';

/** A connection hands in its statistics when it ends, and before that about once a second. In one statement, so that waiting is no commit. */
const othersEnd = `DO $$ BEGIN
  FOR tries IN 1 .. 1000 LOOP
    PERFORM pg_stat_clear_snapshot();
    EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND usename = current_user AND pid <> pg_backend_pid());
    IF tries = 1000 THEN RAISE EXCEPTION 'A contender is still connected.'; END IF;
    PERFORM pg_sleep(0.01);
  END LOOP;
END $$`;

/** An update leaves a dead row as well as a deletion does. A truncated or dropped table leaves none. */
const counters = `SELECT d.xact_commit::float8 AS "commits",
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS "bytes of WAL",
    (d.blks_hit + d.blks_read)::float8 AS "buffer pages",
    (SELECT coalesce(sum(n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables WHERE schemaname = $1)::float8 AS "dead rows"
  FROM pg_stat_database d WHERE d.datname = current_database()`;

async function read({ url, schema }: Place): Promise<Readonly<Record<string, number>>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(othersEnd);
    const { rows } = await client.query<Record<string, number>>(counters, [schema]);
    return rows[0]!;
  } finally {
    await client.end();
  }
}

export async function countServerWork(
  place: Place,
): Promise<() => Promise<Readonly<Record<string, number>>>> {
  const before = await read(place);
  return async () => {
    const after = await read(place);
    return Object.fromEntries(Object.keys(after).map((name) => [name, after[name]! - before[name]!]));
  };
}
