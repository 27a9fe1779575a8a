/** LISTEN and NOTIFY wake a waiting worker at once. Where they do not work, it polls. */

import { randomBytes } from 'node:crypto';
import type { EndWatch } from '../../../core/contract/store.ts';
import { createEndWatches } from '../shared/end-watches.ts';
import { textArray } from './arrays.ts';
import type { PostgresClient } from './client.ts';
import type { Database } from './database.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

const listenTimeoutMs = 5_000;
/** In ms. */
const usualTimes = {
  retry: 1_000,
  /** A pooler that shares connections accepts LISTEN and delivers nothing, so an echo must come back within this. */
  echo: 2_000,
  /** A connection can die silently, so the echo is repeated this often. */
  beat: 10_000,
  /** Where no echo ever comes back, trying often is useless. */
  longestRetry: 60_000,
};

/** Fetches that wait, or others who want to hear. */
export interface Hearer {
  /** @param payload a queue's name, or what the channel carries; absent = the connection has come or gone, so something may have been missed */
  wake(payload?: string): void;
  /** Notifications arrive from now on. */
  heard?(): void;
}

export function createListener(
  db: Pick<Database, 'pool' | 'query'>,
  channel: string,
  hearer: Hearer,
  timesMs: typeof usualTimes = usualTimes,
) {
  let client: PostgresClient | null = null;
  let started = false;
  let closed = false;
  let hears = false;
  let timer: NodeJS.Timeout | undefined;
  /** Its own, because what is sent to the shared channel is delivered to every process that listens. Older releases send theirs there. */
  const echoes = `longshore echo ${randomBytes(12).toString('base64url')}`;
  /** The echo that was sent and has not come back. */
  let echo: string | null = null;
  let deafMs = timesMs.retry;

  function later(delayMs: number, step: () => void): void {
    clearTimeout(timer);
    if (!closed) timer = setTimeout(step, delayMs).unref();
  }

  async function connect(): Promise<void> {
    let mine: PostgresClient;
    try {
      mine = await db.pool.connect();
    } catch {
      return later(timesMs.retry, connect);
    }
    if (closed) return mine.release(true);
    client = mine;
    const lost = () => drop(mine, timesMs.retry);
    mine.on('error', lost);
    mine.on('end', lost);
    mine.on('notification', ({ channel: from, payload }) => {
      if (from === echoes && payload === echo) heard(mine);
      else if (from === channel && !payload?.startsWith('echo ')) hearer.wake(payload);
    });
    try {
      await mine.query({ text: `LISTEN "${channel}"; LISTEN "${echoes}"`, query_timeout: listenTimeoutMs });
    } catch {
      return lost();
    }
    hearer.wake(); // for jobs that came before LISTEN
    await beat(mine);
  }

  /** Sent on another connection: a shared one may hear its own notifications and no others. */
  async function beat(mine: PostgresClient): Promise<void> {
    const sent = randomBytes(9).toString('base64url');
    echo = sent;
    try {
      await db.query('listening', 'SELECT pg_notify($1, $2)', [echoes, sent]);
    } catch {
      if (client === mine) later(timesMs.retry, () => beat(mine));
      return;
    }
    // A process that was busy for so long must read what has arrived before it judges.
    if (client === mine && echo === sent) later(timesMs.echo, () => setImmediate(unheard, mine));
  }

  function heard(mine: PostgresClient): void {
    const before = hears;
    hears = true;
    if (!before) hearer.heard?.();
    echo = null;
    deafMs = timesMs.retry;
    later(timesMs.beat, () => beat(mine));
  }

  function unheard(mine: PostgresClient): void {
    if (echo === null) return;
    drop(mine, deafMs);
    deafMs = Math.min(deafMs * 2, timesMs.longestRetry);
  }

  function drop(mine: PostgresClient, retryInMs: number): void {
    if (client !== mine) return;
    client = null;
    hears = false;
    echo = null;
    // The 'error' listener stays: an error event without one would end the process.
    mine.removeAllListeners('notification');
    mine.release(true);
    hearer.wake(); // a waiting fetch must switch to polling
    later(retryInMs, connect);
  }

  return {
    /** Starts to listen, if it does not yet. */
    start(): void {
      if (started) return;
      started = true;
      void connect();
    },
    /** Whether notifications have arrived on this connection. */
    get hears(): boolean {
      return hears;
    },
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      const mine = client;
      client = null;
      mine?.removeAllListeners('notification');
      mine?.release(true);
    },
  };
}

/** An idle worker or relay that listens still looks this often: a notification can be lost with its connection. */
export const safetyPollMs = 2_500;

/** Between two NOTIFYs of one queue. */
export const notifyGapMs = 5;

/** In place of a queue's name, which has no space: a running job was cancelled. */
export const cancelPayload = 'a cancel';

/** A channel's name has at most 63 bytes. */
export const channelOf = (schema: string): string => `longshore ${schema}`;

/** With fewer a worker, a relay and this would leave none for the jobs: callers poll. */
const fewestToHear = 5;

/** Hears of the ends of jobs by NOTIFY, on a connection and a channel of this process. `null` = it cannot listen. */
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
