import { postgres as backendAt } from '../../../local/backends/postgres/index.ts';
import { batches } from '../kit/batches.ts';
import { type Bench, suite } from '../kit/bench.ts';
import { groups } from '../kit/groups.ts';
import { limits } from '../kit/limits.ts';
import { million } from '../kit/million.ts';
import type { BenchServer } from '../kit/network.ts';
import { backlog } from './backlog.ts';
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
    million: lists,
    limits: limited,
    batches: batched,
    groups: fairShares,
    rss: memory,
  },
  startServer,
);

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

function fairShares(bench: Bench, server: BenchServer) {
  return server.at(({ url, schema }) => groups(bench, async () => backendAt({ url, schema })));
}
