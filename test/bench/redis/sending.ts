import { payload, sampleBody } from '../kit/app.ts';
import { type Bench, contest, type Row, ratioRow } from '../kit/bench.ts';
import { fill, latencyRows, sendRows } from '../kit/network.ts';
import type { Server } from './server.ts';

const cpu = { raw: null };

export function bulk(bench: Bench, server: Server): Promise<Row[]> {
  const against = { BullMQ: 3, 'bee-queue': 1, raw: null };
  const how = { count: 60_000, chunk: 1000, inFlight: 1 };
  return sendRows(bench, server, { name: 'enqueue in chunks of 1000', ...how, against, cpu });
}

export async function single(bench: Bench, server: Server): Promise<Row[]> {
  const against = { raw: 0.9, 'bee-queue': null, BullMQ: null };
  const each = { name: 'enqueue one at a time', count: 10_000, chunk: 1, inFlight: 1, against, cpu };
  const many = { name: 'enqueue, 50 in flight', count: 40_000, chunk: 1, inFlight: 50, against, cpu };
  return [...(await sendRows(bench, server, each)), ...(await sendRows(bench, server, many))];
}

export const latency = (bench: Bench, server: Server): Promise<Row[]> =>
  latencyRows(bench, server, { 'raw with PUBLISH': { most: 1.6 }, 'bee-queue': null, BullMQ: null });

/** What the server needs for a job that waits, beside the job's own text. */
export async function pending(bench: Bench, server: Server): Promise<Row[]> {
  const count = 20_000;
  const bodyBytes = { longshore: (await sampleBody()).length, BullMQ: JSON.stringify(payload(0)).length };
  const names = ['longshore', 'BullMQ'] as const;
  const rounds = await contest(bench, names, (who) =>
    server.at(async (place) => {
      const before = await server.usedMemory();
      await fill(bench, who, place, count);
      return ((await server.usedMemory()) - before) / count - bodyBytes[who];
    }),
  );
  const pairs = rounds.map((round) => ({ ours: round.longshore, theirs: round.BullMQ }));
  return [ratioRow('memory per pending job, over its body', 'bytes', pairs, { most: 0.6 }, 'BullMQ')];
}
