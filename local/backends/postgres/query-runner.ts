/**
 * Single statements over a pool. For the client, the driver and its pool cost more than the statement itself: checking a connection out
 * and in with its timers, copying the description of the statement, and a timer for an answer that nearly always comes.
 */

import { createWatch } from '../../watch.ts';
import type { Pool, PostgresClient, Row, Statement } from './client.ts';

interface Running {
  /** Tick of the watch when the statement began. */
  readonly tick: number;
  fail(error: Error): void;
}

/** After this number of statements in a row the pool gets the connection back: it may want to replace or close it. */
const mostInARow = 100;

/** Broken connections are replaced at the next query. Without a listener their errors would end the process. */
const broken = new WeakSet<Pool | PostgresClient>();
const guarded = new WeakSet<Pool | PostgresClient>();

function guard(one: Pool | PostgresClient): void {
  if (guarded.has(one)) return;
  one.on('error', () => broken.add(one)); // the running statement fails by itself
  guarded.add(one);
}

/** @param silenceMs a statement fails when the server has not answered for this time, or up to a quarter longer */
export function createQueryRunner(pool: Pool, silenceMs: number) {
  guard(pool);
  const running: Running[] = [];
  /** A connection whose statement was answered in this turn of the event loop: the next statement of the turn reuses it. */
  let spare: PostgresClient | null = null;
  let inARow = 0;

  const watch = createWatch(silenceMs, (lateBefore) => {
    const late = running.filter(({ tick }) => tick < lateBefore);
    for (const { fail } of late) fail(new Error(`the server has not answered for ${silenceMs} ms`));
    return running.length > 0;
  });

  function keepOrRelease(client: PostgresClient): void {
    // Not while other callers wait for a connection, and not if the pool does not tell.
    if (spare || pool.waitingCount !== 0 || inARow >= mostInARow) {
      inARow = 0;
      client.release();
      return;
    }
    spare = client;
    setImmediate(releaseSpare);
  }

  function releaseSpare(): void {
    if (!spare) return;
    const client = spare;
    spare = null;
    inARow = 0;
    client.release(broken.has(client));
  }

  function runOn(client: PostgresClient, statement: Statement, values: unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = (error: Error | null, rows: Row[]): void => {
        if (isOver) return;
        isOver = true;
        const last = running.pop()!;
        if (last !== query) running[running.indexOf(query)] = last;
        if (error) {
          client.release(error); // closes it
          reject(error);
        } else {
          keepOrRelease(client);
          resolve(rows);
        }
      };
      const query: Running = { tick: watch.tick, fail: (error) => end(error, []) };
      running.push(query);
      watch.start();
      client.query(statement, values, (error, answer) => end(error, answer?.rows ?? []));
    });
  }

  return (statement: Statement, values: unknown[]): Promise<Row[]> => {
    if (spare && !broken.has(spare)) {
      const client = spare;
      spare = null;
      inARow++;
      return runOn(client, statement, values);
    }
    return pool.connect().then((client) => {
      guard(client);
      return runOn(client, statement, values);
    });
  };
}
