/**
 * Single statements over a pool. What a driver and its pool do around a statement takes a client longer than the statement itself:
 * checking a connection out and in with its timers, copying the statement's description, a timer for an answer that mostly comes.
 */

import { createWatch } from '../../watch.ts';
import type { Pool, PostgresClient, Row, Statement } from './database.ts';

export interface Asking {
  ask(statement: Statement, values: unknown[]): Promise<Row[]>;
}

interface Asked {
  /** Of the watch, when it was asked. */
  readonly tick: number;
  fail(error: Error): void;
}

/** After so many statements in a row the pool sees a connection again, which it may want to replace or to close. */
const mostInARow = 100;

/** A broken connection is replaced at the next query; but without a listener its error would end the process. */
const broken = new WeakSet<Pool | PostgresClient>();
const guarded = new WeakSet<Pool | PostgresClient>();

function guard(one: Pool | PostgresClient): void {
  if (guarded.has(one)) return;
  one.on('error', () => broken.add(one)); // what was under way fails by itself
  guarded.add(one);
}

/** @param silenceMs a server that has not answered for so long, or up to a quarter longer, is one that is away */
export function createAsking(pool: Pool, silenceMs: number): Asking {
  guard(pool);
  const under: Asked[] = [];
  /** A connection that was answered in this turn of the event loop: who asks next in the same turn goes on with it. */
  let spare: PostgresClient | null = null;
  let inARow = 0;

  const watch = createWatch(silenceMs, (lateBefore) => {
    const late = under.filter(({ tick }) => tick < lateBefore);
    for (const { fail } of late) fail(new Error(`the server has not answered for ${silenceMs} ms`));
    return under.length > 0;
  });

  function putBack(client: PostgresClient): void {
    // Not while others wait for one, nor in a pool that does not say so.
    if (spare || pool.waitingCount !== 0 || inARow >= mostInARow) {
      inARow = 0;
      client.release();
      return;
    }
    spare = client;
    setImmediate(letGo);
  }

  function letGo(): void {
    if (!spare) return;
    const client = spare;
    spare = null;
    inARow = 0;
    client.release(broken.has(client));
  }

  return {
    ask(statement, values) {
      return new Promise((resolve, reject) => {
        function askOn(client: PostgresClient): void {
          let isOver = false;
          const end = (error: Error | null, rows: Row[]): void => {
            if (isOver) return;
            isOver = true;
            const last = under.pop()!;
            if (last !== asked) under[under.indexOf(asked)] = last;
            if (error) {
              client.release(error); // which closes it
              reject(error);
            } else {
              putBack(client);
              resolve(rows);
            }
          };
          const asked: Asked = { tick: watch.tick, fail: (error) => end(error, []) };
          under.push(asked);
          watch.start();
          client.query(statement, values, (error, answer) => end(error, answer?.rows ?? []));
        }
        if (spare && !broken.has(spare)) {
          const client = spare;
          spare = null;
          inARow++;
          askOn(client);
          return;
        }
        pool.connect().then((client) => {
          guard(client);
          askOn(client);
        }, reject);
      });
    },
  };
}
