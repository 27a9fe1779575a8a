/** LISTEN and NOTIFY wake a waiting worker at once. If they do not work, it polls. */

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
  /** An echo or an answer must come within this time: a pooler that shares connections accepts LISTEN but delivers nothing. */
  echo: 2_000,
  /** The same for the first echo. While a large fleet starts, each echo reaches every connection that listens, so it may take long. */
  firstEcho: 5_000,
  /** How often the connection is checked, because it can die silently. */
  beat: 10_000,
  /** The longest pause between retries while no echo comes back. */
  longestRetry: 60_000,
};

/** Gets the notifications, like the waiting fetches. */
export interface Hearer {
  /** @param payload the name of a queue, or another payload of the channel; absent = the connection came or went, so some may be missed */
  wake(payload?: string): void;
  /** Notifications arrive from now on. */
  heard?(): void;
}

export type Listener = ReturnType<typeof createListener>;

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
  /** Its own channel, because all listening processes get the messages of the shared one. Older releases send their echoes there. */
  const echoes = `longshore echo ${randomBytes(12).toString('base64url')}`;
  const listen = `LISTEN "${channel}"; LISTEN "${echoes}"`;
  /** The echo that has not come back yet, or what stands for it. */
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
      await mine.query({ text: listen, query_timeout: listenTimeoutMs });
    } catch {
      return lost();
    }
    hearer.wake(); // for jobs that came before LISTEN
    await beat(mine);
  }

  /**
   * Sends the first echo on another connection: a shared connection may only get its own notifications. When one has come back, an answer to
   * LISTEN is enough. It wakes no process, and a NOTIFY wakes every one that listens in the database.
   */
  async function beat(mine: PostgresClient): Promise<void> {
    const sent = randomBytes(9).toString('base64url');
    echo = sent;
    const answered = () => client === mine && echo === sent && heard(mine);
    try {
      if (hears)
        void mine.query('SELECT').then(answered, () => {}); // an error also comes as an event
      else await db.query('listening', 'SELECT pg_notify($1, $2)', [echoes, sent]);
    } catch {
      if (client === mine) later(timesMs.retry, () => beat(mine));
      return;
    }
    // A process that was busy must read the arrived messages before it decides.
    if (client === mine && echo === sent)
      later(hears ? timesMs.echo : timesMs.firstEcho, () => setImmediate(unheard, mine));
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
    /** Starts to listen. Later calls do nothing. */
    start(): void {
      if (started) return;
      started = true;
      void connect();
    },
    /** Whether notifications have arrived on this connection. */
    get hears(): boolean {
      return hears;
    },
    /** Whether it has begun to listen, and no echo has been missed. */
    get isPromising(): boolean {
      return started && !hears && deafMs === timesMs.retry;
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

/** An idle worker or relay that listens still polls this often, because a notification can be lost with its connection. */
const safetyPollMs = 2_500;
/** The same while it begins to listen: a fleet that starts would otherwise keep the server too busy to deliver the echoes. */
const earlyPollMs = 1_000;

/** Ms until the next look of an idle worker or relay that no notification wakes. @param pollMs while it cannot listen */
export const idlePollMs = (listener: Pick<Listener, 'hears' | 'isPromising'>, pollMs: number): number =>
  listener.hears ? safetyPollMs : listener.isPromising ? Math.max(earlyPollMs, pollMs) : pollMs;

/** Shortest time between two NOTIFYs of a queue. */
export const notifyGapMs = 5;

/** Sent instead of the name of a queue, which has no space: a running job was cancelled. */
export const cancelPayload = 'a cancel';

/** The same: a job has got a rank that may be below the floor of a fetch. */
export const lookBackPayload = 'a look back';

/** The name of a channel has at most 63 bytes. */
export const channelOf = (schema: string): string => `longshore ${schema}`;

/** With fewer connections, a worker, a relay and this listener would leave none for the jobs: callers poll. */
const fewestToHear = 5;

/** Gets the ends of jobs by NOTIFY, on a connection and a channel of this process. `null` = it cannot listen. */
export function postgresEnds({ db, clock, at }: Pick<PostgresState, 'db' | 'clock' | 'at'>, listen: boolean) {
  if (!listen || db.connections < fewestToHear) return null;
  const s = db.schema;
  const channel = `longshore end ${randomBytes(12).toString('base64url')}`;
  const now = timeOf('$4');
  // A registration also removes the expired rows of dead processes.
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
