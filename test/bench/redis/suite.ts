import { redis as backendAt } from '../../../local/backends/redis/index.ts';
import { batches } from '../kit/batches.ts';
import { type Bench, suite } from '../kit/bench.ts';
import { deep } from '../kit/deep.ts';
import { fleets } from '../kit/fleet.ts';
import { groups } from '../kit/groups.ts';
import { limits } from '../kit/limits.ts';
import type { BenchServer } from '../kit/network.ts';
import { schedules, writeAll } from '../kit/schedules.ts';
import { openPlace } from './longshore.ts';
import { bulk, latency, pending, single } from './sending.ts';
import { type Server, startServer } from './server.ts';
import { backlog, drain, history, memory } from './throughput.ts';

export const redis = suite(
  {
    drain,
    history,
    bulk,
    single,
    latency,
    backlog,
    deep: (bench: Bench, server: Server) => deep(bench, server, openPlace, 1_000_000),
    pending,
    fleet,
    schedules: stored,
    limits: limited,
    groups: fairShares,
    batches: batched,
    rss: memory,
  },
  startServer,
);

function fleet(bench: Bench, server: Server) {
  return fleets(bench, server, openPlace, 1.5);
}

function batched(bench: Bench, server: BenchServer) {
  return batches(bench, server, ({ url }) => backendAt({ url }));
}

function stored(bench: Bench, server: BenchServer) {
  return server.at(async ({ url }) => {
    const backend = backendAt({ url });
    const rows = await schedules(bench, backend, () => writeAll(backend));
    await backend.close();
    return rows;
  });
}

function limited(bench: Bench, server: BenchServer) {
  return limits(bench, server, ({ url }) => backendAt({ url }));
}

function fairShares(bench: Bench, server: BenchServer) {
  return server.at(({ url, schema }) =>
    groups(bench, async () => backendAt({ url, prefix: schema, retention: { completedMs: 0 } })),
  );
}
