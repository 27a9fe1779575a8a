import * as z from 'zod';
import { slices } from '../../../core/base/slices.ts';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { payload, sampleBody } from '../kit/app.ts';
import { type Bench, contest, limitRow, type Row, ratioRow } from '../kit/bench.ts';
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

/** What the server needs for a job that waits: with a small payload in all, with the usual one beside the job's own text. */
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
  return [
    limitRow('memory per pending job, small payload', 'bytes', [await small(server)], 450),
    ratioRow('memory per pending job, over its body', 'bytes', pairs, { most: 0.6 }, 'BullMQ'),
  ];
}

function small(server: Server): Promise<number> {
  const count = 100_000;
  const job = defineJob({
    name: 'mail.send',
    payload: z.object({ userId: z.number() }),
    handle: async () => {},
  });
  const signing = keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(7) }]);
  return server.at(async ({ url }) => {
    const backend = redis({ url });
    const client = connect(createApp({ jobs: [job], signing }), backend);
    const before = await server.usedMemory();
    for (const some of slices(
      Array.from({ length: count }, (_, userId) => ({ userId })),
      1_000,
    ))
      await client.enqueueMany(job, some);
    const used = await server.usedMemory();
    await backend.close();
    return (used - before) / count;
  });
}
