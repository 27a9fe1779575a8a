import pg from 'pg';
import { slices } from '../../../core/base/slices.ts';
import { postgres as backendAt } from '../../../local/backends/postgres/index.ts';
import { countStatements } from '../../services/postgres/count-statements.ts';
import { batches } from '../kit/batches.ts';
import { type Bench, limitRow, suite } from '../kit/bench.ts';
import { deep } from '../kit/deep.ts';
import { fleets } from '../kit/fleet.ts';
import { groups } from '../kit/groups.ts';
import { limits } from '../kit/limits.ts';
import { million } from '../kit/million.ts';
import type { BenchServer } from '../kit/network.ts';
import { others, schedules } from '../kit/schedules.ts';
import { backlog } from './backlog.ts';
import { openPlace } from './longshore.ts';
import { bulk, latency, single } from './sending.ts';
import { startServer } from './server.ts';
import { drain, history, memory, workers } from './throughput.ts';

export const postgres = suite(
  {
    drain,
    history,
    workers,
    bulk,
    single,
    latency,
    backlog,
    deep: (bench: Bench, server: BenchServer) => deep(bench, server, openPlace, 2_000_000),
    idle,
    fleet,
    million: lists,
    schedules: stored,
    limits: limited,
    batches: batched,
    groups: fairShares,
    rss: memory,
  },
  () => startServer(),
);

/** What workers that have nothing to do ask of the server. */
function idle(_: Bench, server: BenchServer) {
  return server.at(async (place) => {
    const { workers } = await countStatements(place);
    const [first, ...others] = workers.map(({ perSecond }) => perSecond);
    return [
      limitRow('statements of a worker, five queues and a job', 'a second', [first!], 2),
      limitRow('statements of each further worker', 'a second', others, 1),
    ];
  });
}

/** Each worker takes three connections. */
async function fleet(bench: Bench) {
  const server = await startServer({ max_connections: '1000' });
  return fleets(bench, server, openPlace, 1).finally(server.stop);
}

function limited(bench: Bench, server: BenchServer) {
  return limits(bench, server, ({ url, schema }) => backendAt({ url, schema }));
}

function batched(bench: Bench, server: BenchServer) {
  return batches(bench, server, ({ url, schema }) => backendAt({ url, schema }));
}

function lists(bench: Bench, server: BenchServer) {
  return server.at(async ({ url, schema }) => {
    const backend = backendAt({ url, schema });
    const rows = await million(bench, backend);
    await backend.close();
    return rows;
  });
}

function stored(bench: Bench, server: BenchServer) {
  return server.at(async ({ url, schema }) => {
    const backend = backendAt({ url, schema });
    const rows = await schedules(bench, backend, () => fill(url, schema));
    await backend.close();
    return rows;
  });
}

/** In transactions of many: one for each would take an hour. */
async function fill(url: string, schema: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const sql = `INSERT INTO ${schema}.texts (name, version, text)
    SELECT 'schedule/' || name, 'filled', next_at || chr(10) || text FROM unnest($1::text[], $2::bigint[], $3::text[]) x (name, next_at, text)
    UNION ALL SELECT 'due/' || lpad(next_at::text, 16, '0') || '.' || name, 'filled', '0' FROM unnest($1::text[], $2::bigint[]) x (name, next_at)`;
  for (const some of slices([...others()], 20_000))
    await client.query(sql, [
      some.map(({ name }) => name),
      some.map(({ nextAt }) => nextAt),
      some.map(({ text }) => text),
    ]);
  await client.end();
}

function fairShares(bench: Bench, server: BenchServer) {
  return server.at(({ url, schema }) => groups(bench, async () => backendAt({ url, schema })));
}
