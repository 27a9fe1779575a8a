/** LISTEN and NOTIFY: a waiting worker hears of a job at once. Where that does not work, it looks again and again. */

import { randomBytes } from 'node:crypto';
import type { Bell } from '../../bell.ts';
import type { Database, PostgresClient } from './database.ts';

export interface Listener {
  /** Starts to listen, if it does not yet. */
  start(): void;
  /** Whether notifications were seen to arrive since the connection was made. */
  readonly hears: boolean;
  close(): Promise<void>;
}

const retryMs = 1_000;
/** A pooler that shares connections takes LISTEN and delivers nothing: so what was sent must come back within this. */
const echoMs = 2_000;

export function createListener(db: Database, channel: string, bell: Bell): Listener {
  let client: PostgresClient | null = null;
  let started = false;
  let closed = false;
  let hears = false;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    if (closed) return;
    try {
      const mine = await db.pool.connect();
      if (closed) return mine.release(true);
      client = mine;
      const echo = `echo ${randomBytes(9).toString('base64url')}`;
      mine.on('notification', ({ channel: from, payload }) => {
        if (from !== channel) return;
        if (payload === echo) {
          hears = true;
          clearTimeout(timer);
        }
        if (!payload?.startsWith('echo ')) bell.ring();
      });
      const lost = () => drop(mine);
      mine.on('error', lost);
      mine.on('end', lost);
      await mine.query(`LISTEN "${channel}"`);
      bell.ring(); // whatever was sent while nobody listened
      timer = setTimeout(lost, echoMs).unref();
      await db.query('listening', 'SELECT pg_notify($1, $2)', [channel, echo]);
    } catch {
      if (client) drop(client);
      else again();
    }
  }

  function drop(mine: PostgresClient): void {
    if (client !== mine) return;
    client = null;
    hears = false;
    clearTimeout(timer);
    // An event after this one must find a listener, or it would end the process.
    mine.removeAllListeners('notification');
    mine.release(true);
    again();
  }

  function again(): void {
    if (!closed) timer = setTimeout(connect, retryMs).unref();
  }

  return {
    start() {
      if (started) return;
      started = true;
      void connect();
    },
    get hears() {
      return hears;
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      const mine = client;
      client = null;
      mine?.removeAllListeners('notification');
      mine?.release(true);
    },
  };
}

/**
 * Which queues to name in a NOTIFY. Notifying serialises the commits of the whole database, so each queue is named
 * at most once per `gapMs`: by the first call, and once more at the end of the gap for all that came in it.
 */
export interface Ringer {
  /** Those that the statement at hand shall name. */
  due(queues: Iterable<string>): string[];
  /** Sends what is still to be sent. */
  close(): Promise<void>;
}

const gapMs = 5;

export function createRinger(db: Database, channel: string): Ringer {
  const rungAt = new Map<string, number>();
  const owed = new Set<string>();
  let timer: NodeJS.Timeout | null = null;

  async function flush(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    if (owed.size === 0) return;
    const queues = [...owed];
    owed.clear();
    const now = performance.now();
    for (const queue of queues) rungAt.set(queue, now);
    const sql = 'SELECT pg_notify($1, queue) FROM unnest($2::text[]) queue';
    await db.query('waking', sql, [channel, queues]).catch(() => {}); // workers look by themselves, too
  }

  return {
    due(queues) {
      const now = performance.now();
      const named: string[] = [];
      for (const queue of queues) {
        const last = rungAt.get(queue);
        if (last === undefined || now - last >= gapMs) {
          rungAt.set(queue, now);
          named.push(queue);
        } else {
          owed.add(queue);
          timer ??= setTimeout(flush, gapMs);
        }
      }
      return named;
    },
    close: flush,
  };
}

/** A channel's name has at most 63 bytes. */
export const channelOf = (schema: string): string => `longshore ${schema}`;
