/** beanstalkd with a binlog that is fsynced every 50 ms, as its service is usually run. */

import { beanstalkd as backendAt } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { startBeanstalkd } from '../../services/beanstalkd/server.ts';
import { type Bench, type Row, suite } from '../kit/bench.ts';
import { groups } from '../kit/groups.ts';
import { type BenchServer, drainRows, latencyRows, memoryRows, sendRows } from '../kit/network.ts';

async function startServer(): Promise<BenchServer> {
  const server = await startBeanstalkd({ binlog: true, args: ['-f', '50'] });
  let places = 0;
  return {
    /** Tubes of its own: what the one before has left is empty, and gone. */
    at: (use) => use({ url: server.url, schema: `bench_${++places}`, serverPid: server.pid }),
    stop: () => server.remove(),
  };
}

async function drain(bench: Bench, server: BenchServer): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [1, 10, 50, 100]) {
    const against = { raw: concurrency === 50 ? 0.7 : null, jackd: concurrency >= 10 ? 1.3 : null };
    const name = `drain c=${concurrency}`;
    rows.push(
      ...(await drainRows(bench, server, { name, concurrency, against, cpu: { raw: null, jackd: null } })),
    );
  }
  return rows;
}

async function sending(bench: Bench, server: BenchServer): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, how] of Object.entries({
    'enqueue one at a time': { count: 10_000, chunk: 1, inFlight: 1 },
    'enqueue, 50 in flight': { count: 40_000, chunk: 1, inFlight: 50 },
    'enqueue in chunks of 1000': { count: 60_000, chunk: 1000, inFlight: 1 },
  })) {
    const against = { raw: null, jackd: null };
    rows.push(...(await sendRows(bench, server, { name, ...how, against, cpu: { raw: null } })));
  }
  return rows;
}

const latency = (bench: Bench, server: BenchServer): Promise<Row[]> =>
  latencyRows(bench, server, { raw: null, jackd: null }, 1.3);

const rss = (bench: Bench, server: BenchServer): Promise<Row[]> =>
  memoryRows(bench, server, 100, ['raw', 'jackd']);

const fairShares = (bench: Bench, server: BenchServer): Promise<Row[]> =>
  server.at(({ url, schema }) =>
    groups(bench, async () => backendAt({ url, prefix: `${schema}-`, store: memoryStore() })),
  );

export const beanstalkd = suite({ drain, sending, latency, groups: fairShares, rss }, startServer);
