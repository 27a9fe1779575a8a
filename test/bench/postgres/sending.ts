import { type Bench, contest, type Row, ratioRow, type Target } from '../bench.ts';
import type { Sent } from '../contender.ts';
import { cpuRows, pairsOf, type Round } from './rows.ts';
import type { Server } from './server.ts';
import type { Name } from './tasks.ts';

interface Sends {
  readonly name: string;
  readonly count: number;
  readonly chunk: number;
  readonly inFlight: number;
  readonly against: Readonly<Partial<Record<Name, Target>>>;
  /** With whom the CPU time is compared too. */
  readonly cpu?: readonly Name[];
}

async function sendRows(bench: Bench, server: Server, sends: Sends): Promise<Row[]> {
  const { name, against, cpu = [], ...how } = sends;
  const rivals = Object.keys(against) as Name[];
  const rounds: Round<Sent>[] = await contest(bench, ['longshore', ...rivals], (who) =>
    server.at((place) => bench.run<Sent>('send', { who, place, ...how })),
  );
  const rates = rivals.map((who) => {
    const pairs = pairsOf(rounds, who, (sent) => sent.perSecond);
    return ratioRow(name, 'jobs/s', pairs, against[who] ?? null, who);
  });
  return [...rates, ...cpuRows(name, rounds, cpu)];
}

export function bulk(bench: Bench, server: Server): Promise<Row[]> {
  const against = { raw: 0.65, 'graphile-worker': 1.4, 'pg-boss': 1.4 };
  const cpu: Name[] = ['raw', 'graphile-worker'];
  const how = { count: 40_000, chunk: 1000, inFlight: 1 };
  return sendRows(bench, server, { name: 'enqueue in chunks of 1000', ...how, against, cpu });
}

export async function single(bench: Bench, server: Server): Promise<Row[]> {
  const peers = { 'graphile-worker': null, 'pg-boss': null };
  const each = { name: 'enqueue one at a time', count: 3_000, chunk: 1, inFlight: 1 };
  const many = { name: 'enqueue, 50 in flight', count: 10_000, chunk: 1, inFlight: 50 };
  return [
    ...(await sendRows(bench, server, { ...each, against: { raw: 0.85, ...peers } })),
    ...(await sendRows(bench, server, { ...many, against: { raw: 1, ...peers } })),
  ];
}
