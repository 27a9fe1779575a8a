/**
 * `node test/bench/postgres/held-snapshot.ts [--seconds 30] [--rate 500]`: latency of an idle worker, and buffer pages per job, before,
 * while and after a client holds a snapshot open, as a backup does. Jobs come at this rate all the time. The worker is a process of its own.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { connect } from '../../../core/routing/connect.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { benchApp, nowMs, payload } from '../kit/app.ts';
import { percentile } from '../kit/bench.ts';
import { serverCpuMs } from '../kit/stopwatch.ts';
import { startServer } from './server.ts';

interface Place {
  readonly url: string;
  readonly schema: string;
}

/** Reports the latency of each job. */
async function work({ url, schema }: Place): Promise<void> {
  const backend = postgres({ url, schema, retention: { completedMs: 0 } });
  let latencies: number[] = [];
  const worker = startWorker(benchApp(({ at }) => void latencies.push(nowMs() - at)).app, { backend });
  process.send!('ready');
  for await (const [message] of messages()) {
    if (message === 'stop') break;
    process.send!(latencies);
    latencies = [];
  }
  await worker.stop();
  await backend.close();
  process.exit(0);
}

async function* messages(): AsyncGenerator<unknown[]> {
  for (;;) yield await once(process, 'message');
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '30' }, rate: { type: 'string', default: '500' } },
  });
  const [seconds, rate] = [Number(values.seconds), Number(values.rate)];
  const server = await startServer();
  await server.at(async ({ url, schema, serverPid }) => {
    const backend = postgres({ url, schema, retention: { completedMs: 0 } });
    await backend.migrate!();
    const { app, job } = benchApp();
    const client = connect(app, backend);
    const observer = new pg.Client(url);
    await observer.connect();
    const holder = new pg.Client(url);
    await holder.connect();
    const child = fork(import.meta.filename, ['worker'], { execArgv: process.execArgv });
    child.send({ url, schema });
    await once(child, 'message');

    async function pages(): Promise<number> {
      const { rows } = await observer.query(
        'SELECT blks_hit + blks_read AS n FROM pg_stat_database WHERE datname = current_database()',
      );
      return Number(rows[0].n);
    }

    let sent = 0;
    async function phase(name: string, forSeconds: number): Promise<void> {
      child.send('take');
      await once(child, 'message');
      const before = { pages: await pages(), sent };
      const cpu = serverCpuMs(serverPid)!;
      const startedAt = nowMs();
      const calls: Promise<unknown>[] = [];
      while (nowMs() - startedAt < forSeconds * 1000) {
        const due = Math.floor(((nowMs() - startedAt) / 1000) * rate) + before.sent;
        while (sent < due) calls.push(client.enqueue(job, payload(sent++, nowMs())));
        await delay(1);
      }
      await Promise.all(calls);
      await delay(1_500); // the server publishes its counters once a second
      child.send('take');
      const [latencies] = (await once(child, 'message')) as [number[]];
      const jobs = sent - before.sent;
      const ms = (percent: number) => percentile(latencies, percent).toFixed(1).padStart(7);
      console.log(
        `${name.padEnd(18)} ${jobs} jobs  p50 ${ms(50)} ms  p99 ${ms(99)} ms  ${(((await pages()) - before.pages) / jobs).toFixed(0).padStart(6)} pages a job  server CPU ${((serverCpuMs(serverPid)! - cpu) / jobs).toFixed(2)} ms a job`,
      );
    }

    await phase('warming up', 3);
    await phase('before', Math.min(10, seconds));
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await holder.query('SELECT txid_current()');
    const parts = 4;
    for (let part = 1; part <= parts; part++) await phase(`held ${part}/${parts}`, seconds / parts);
    await holder.query('COMMIT');
    await observer.query(`VACUUM ${schema}.ready, ${schema}.delayed, ${schema}.leases, ${schema}.jobs`);
    await phase('released', Math.min(10, seconds));
    child.send('stop');
    await once(child, 'exit');
    for (const one of [observer, holder]) await one.end();
    await backend.close();
  });
  await server.stop();
}

if (process.argv[2] === 'worker') {
  const [place] = (await once(process, 'message')) as [Place];
  await work(place);
} else await main();
