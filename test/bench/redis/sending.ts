import { payload, sampleBody } from '../app.ts';
import { type Bench, contest, percentile, type Row, ratioRow, type Target } from '../bench.ts';
import type { Sent } from '../contender.ts';
import { cpuRows, pairsOf, type Round } from '../rounds.ts';
import type { Server } from './server.ts';
import type { Name } from './tasks.ts';
import { fill } from './throughput.ts';

interface Sends {
  readonly name: string;
  readonly count: number;
  readonly chunk: number;
  readonly inFlight: number;
  readonly against: Readonly<Partial<Record<Name, Target>>>;
}

async function sendRows(bench: Bench, server: Server, { name, against, ...how }: Sends): Promise<Row[]> {
  const rivals = Object.keys(against) as Name[];
  const rounds: Round<Sent>[] = await contest(bench, ['longshore', ...rivals], (who) =>
    server.at((place) => bench.run<Sent>('send', { who, place, ...how })),
  );
  const rates = rivals.map((who) => {
    const pairs = pairsOf(rounds, who, (sent) => sent.perSecond);
    return ratioRow(name, 'jobs/s', pairs, against[who] ?? null, who);
  });
  return [...rates, ...cpuRows(name, rounds, ['raw'])];
}

export function bulk(bench: Bench, server: Server): Promise<Row[]> {
  const against = { BullMQ: 3, 'bee-queue': 1, raw: null };
  const how = { count: 60_000, chunk: 1000, inFlight: 1 };
  return sendRows(bench, server, { name: 'enqueue in chunks of 1000', ...how, against });
}

export async function single(bench: Bench, server: Server): Promise<Row[]> {
  const against = { raw: 0.9, 'bee-queue': null, BullMQ: null };
  const each = { name: 'enqueue one at a time', count: 10_000, chunk: 1, inFlight: 1, against };
  const many = { name: 'enqueue, 50 in flight', count: 40_000, chunk: 1, inFlight: 50, against };
  return [...(await sendRows(bench, server, each)), ...(await sendRows(bench, server, many))];
}

/** From the call of `enqueue` to the first line of the handler of an idle worker in another process. */
export async function latency(bench: Bench, server: Server): Promise<Row[]> {
  const samples = 300;
  const names = ['longshore', 'raw with PUBLISH', 'bee-queue', 'BullMQ'] as const;
  const rounds = await contest(bench, names, (who: Name) =>
    server.at(async (place) => {
      const input = { who, place, samples };
      const worker = bench.start<number[]>('receive', input);
      await worker.ready;
      worker.go();
      const [, latencies] = await Promise.all([bench.run('sendSpaced', input), worker.result]);
      return latencies;
    }),
  );
  return [50, 99].flatMap((percent) =>
    names.slice(1).map((who) => {
      const pairs = rounds.map(({ longshore, [who]: other }) => ({
        ours: percentile(longshore, percent),
        theirs: percentile(other, percent),
      }));
      const target = who === 'raw with PUBLISH' ? { most: 1.2 } : null;
      return ratioRow(`latency, idle worker, p${percent}`, 'ms', pairs, target, who);
    }),
  );
}

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
