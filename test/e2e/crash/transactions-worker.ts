/**
 * A worker process that kills itself: `node transactions-worker.ts <url> <leaseMs> <statement> <phase> <jobs | steps>`. It commits one
 * transaction, and in one after that it ends at the statement with that number, counted from 0. What that was it prints.
 */

import { writeSync } from 'node:fs';
import pg from 'pg';
import { startWorker } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { type Phase, phases, stepTransactionApp, transactionApp } from './transactions-app.ts';

type Query = (query: string | { text: string }, ...rest: unknown[]) => Promise<unknown>;

const [url, leaseMs, statement, phase, of] = process.argv.slice(2);
const dieAt = Number(statement);
const when = phases[Number(phase)] as Phase;
/** The first job also looks whether the tables are there; and it may lose its lease on a slow machine. */
let committed = false;

function die(text: string): void {
  writeSync(1, text);
  process.kill(process.pid, 'SIGKILL');
}

/** Counts the statements of each transaction; not those of the pool itself, which come with a callback. */
function watched(send: Query): Query {
  let place = -1;
  return async (query, ...rest) => {
    if (typeof rest.at(-1) === 'function') return send(query, ...rest);
    const text = typeof query === 'string' ? query : query.text;
    if (text === 'BEGIN') place = 0;
    else if (place >= 0) place++;
    const mine = committed && place === dieAt;
    if (mine && when === 'before it is sent') die(text);
    const answer = send(query, ...rest);
    if (mine && when === 'after it is sent') setImmediate(die, text);
    const result = await answer;
    if (text.startsWith('COMMIT; ')) committed = true; // that of a job, not of a look at what is paused
    if (mine && when === 'after it is answered') die(text);
    if (/^(COMMIT|ROLLBACK)/.test(text)) place = -1; // a worker looks at limits in between
    return result;
  };
}

const pool = new pg.Pool({ connectionString: url });
pool.on('connect', (client) => {
  const { query } = client;
  client.query = watched(query.bind(client) as Query) as typeof client.query;
});

const { app } = of === 'steps' ? stepTransactionApp() : transactionApp();
startWorker(app, {
  backend: postgres({ pool, listen: false, migrate: false }),
  queues: ['default'],
  concurrency: 1,
  leaseMs: Number(leaseMs),
});
