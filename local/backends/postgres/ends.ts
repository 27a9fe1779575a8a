/** Hears of the ends of jobs by NOTIFY, on a connection and a channel of this process. */

import { randomBytes } from 'node:crypto';
import type { EndWatch } from '../../../core/contract/store.ts';
import { createEndWatches } from '../shared/end-watches.ts';
import { textArray } from './arrays.ts';
import { createListener } from './listen.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** With fewer a worker, a relay and this would leave none for the jobs: callers poll. */
const fewestToHear = 5;

/** `null` = it cannot listen. */
export function postgresEnds({ db, clock, at }: Pick<PostgresState, 'db' | 'clock' | 'at'>, listen: boolean) {
  if (!listen || db.connections < fewestToHear) return null;
  const s = db.schema;
  const channel = `longshore end ${randomBytes(12).toString('base64url')}`;
  const now = timeOf('$4');
  // Those of processes that have died go with the next registration.
  const register = `
    WITH gone AS (
      DELETE FROM ${s}.waits WHERE ctid = ANY (ARRAY(
        SELECT w.ctid FROM ${s}.waits w WHERE w.until <= ${now} AND w.channel <> $2 LIMIT 1000 FOR UPDATE SKIP LOCKED)))
    INSERT INTO ${s}.waits (id, channel, until) SELECT id, $2, ${now} + $3 FROM unnest($1::text[]) id ORDER BY id
    ON CONFLICT (id, channel) DO UPDATE SET until = excluded.until`;
  const unregister = `DELETE FROM ${s}.waits WHERE id = ANY ($1) AND channel = $2`;
  const watches = createEndWatches(clock, {
    start: () => listener.start(),
    hears: () => listener.hears,
    register: (jobs, holdMs) =>
      db.query('waiting for a job', register, [textArray(jobs.map(({ id }) => id)), channel, holdMs, at()]),
    unregister: (ids) => db.query('waiting for a job', unregister, [textArray(ids), channel]),
  });
  const listener = createListener(db, channel, {
    wake: (id) => (id === undefined ? watches.changed() : watches.told(id)),
    heard: () => watches.changed(),
  });
  return {
    watch: (...watched: Parameters<typeof watches.watch>): EndWatch => watches.watch(...watched),
    async close(): Promise<void> {
      watches.close();
      await listener.close();
    },
  };
}

export type PostgresEnds = ReturnType<typeof postgresEnds>;
