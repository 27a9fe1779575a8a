import type { Bench, Row } from '../kit/bench.ts';
import { type BenchServer, latencyRows, sendRows } from '../kit/network.ts';

export function bulk(bench: Bench, server: BenchServer): Promise<Row[]> {
  const against = { raw: 0.65, 'graphile-worker': 1.4, 'pg-boss': 1.4 };
  const how = { count: 40_000, chunk: 1000, inFlight: 1, cpu: { raw: null, 'graphile-worker': null } };
  return sendRows(bench, server, { name: 'enqueue in chunks of 1000', ...how, against });
}

export async function single(bench: Bench, server: BenchServer): Promise<Row[]> {
  const peers = { 'graphile-worker': null, 'pg-boss': null };
  const each = { name: 'enqueue one at a time', count: 3_000, chunk: 1, inFlight: 1 };
  const many = { name: 'enqueue, 50 in flight', count: 10_000, chunk: 1, inFlight: 50 };
  return [
    ...(await sendRows(bench, server, { ...each, against: { raw: 0.85, ...peers } })),
    ...(await sendRows(bench, server, { ...many, against: { raw: 1, ...peers } })),
  ];
}

export const latency = (bench: Bench, server: BenchServer): Promise<Row[]> =>
  latencyRows(bench, server, { 'raw with NOTIFY': { most: 1.3 }, 'graphile-worker': null });
