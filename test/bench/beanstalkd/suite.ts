/** beanstalkd with a binlog that is fsynced every 50 ms, as its service is usually run. */

import { startBeanstalkd } from '../../beanstalkd/server.ts';
import {
  type Bench,
  contest,
  count,
  limitRow,
  percentile,
  type Row,
  ratioRow,
  suite,
  type Target,
} from '../bench.ts';
import type { Drained, DrainInput, Place, Sent } from '../contender.ts';
import { cpuRows, pairsOf, type Round } from '../rounds.ts';
import { perSecond } from '../task.ts';
import type { Name } from './tasks.ts';

interface Server {
  at<T>(use: (place: Place) => Promise<T>): Promise<T>;
  stop(): Promise<void>;
}

const jobs = 20_000;
type Against = Readonly<Partial<Record<Name, Target>>>;

async function startServer(): Promise<Server> {
  const server = await startBeanstalkd({ binlog: true, args: ['-f', '50'] });
  let places = 0;
  return {
    /** Tubes of its own: what the one before has left is empty, and gone. */
    at: (use) => use({ url: server.url, schema: `bench_${++places}`, serverPid: server.pid }),
    stop: () => server.remove(),
  };
}

async function drainOnce(
  bench: Bench,
  server: Server,
  who: Name,
  order: Pick<DrainInput, 'concurrency' | 'cold'>,
): Promise<Drained> {
  return server.at(async (place) => {
    await bench.run('send', { who, place, count: jobs, chunk: 1000, inFlight: 1, untimed: true });
    return bench.run<Drained>('drain', { who, place, count: jobs, ...order });
  });
}

async function drain(bench: Bench, server: Server): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [1, 10, 50, 100]) {
    const against: Against = { raw: concurrency === 50 ? 0.7 : null, jackd: null };
    const name = `drain c=${concurrency}`;
    const rounds: Round<Drained>[] = await contest(bench, ['longshore', 'raw', 'jackd'] as const, (who) =>
      drainOnce(bench, server, who, { concurrency }),
    );
    const rate = ({ ran, startedAt, endedAt }: Drained): number => perSecond(ran, endedAt - startedAt);
    for (const [who, target] of Object.entries(against))
      rows.push(ratioRow(name, 'jobs/s', pairsOf(rounds, who, rate), target, who));
    rows.push(...cpuRows(name, rounds, ['raw', 'jackd']));
  }
  return rows;
}

async function sending(bench: Bench, server: Server): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, how] of Object.entries({
    'enqueue one at a time': { count: 10_000, chunk: 1, inFlight: 1 },
    'enqueue, 50 in flight': { count: 40_000, chunk: 1, inFlight: 50 },
    'enqueue in chunks of 1000': { count: 60_000, chunk: 1000, inFlight: 1 },
  })) {
    const rounds: Round<Sent>[] = await contest(bench, ['longshore', 'raw', 'jackd'] as const, (who) =>
      server.at((place) => bench.run<Sent>('send', { who, place, ...how })),
    );
    for (const who of ['raw', 'jackd'])
      rows.push(
        ratioRow(
          name,
          'jobs/s',
          pairsOf(rounds, who, ({ perSecond }) => perSecond),
          null,
          who,
        ),
      );
    rows.push(...cpuRows(name, rounds, ['raw']));
  }
  return rows;
}

/** From the call of `enqueue` to the first line of the handler of an idle worker in another process. */
async function latency(bench: Bench, server: Server): Promise<Row[]> {
  const samples = 300;
  const rounds = await contest(bench, ['longshore', 'raw', 'jackd'] as const, (who) =>
    server.at(async (place) => {
      const input = { who, place, samples };
      const worker = bench.start<number[]>('receive', input);
      await worker.ready;
      worker.go();
      const [, latencies] = await Promise.all([bench.run('sendSpaced', input), worker.result]);
      return latencies;
    }),
  );
  const p50 = rounds.map(({ longshore }) => percentile(longshore, 50));
  return [
    limitRow('latency, idle worker, p50', 'ms', p50, 0.8),
    ...[50, 99].flatMap((percent) =>
      (['raw', 'jackd'] as const).map((who) => {
        const pairs = rounds.map(({ longshore, [who]: other }) => ({
          ours: percentile(longshore, percent),
          theirs: percentile(other, percent),
        }));
        return ratioRow(`latency, idle worker, p${percent}`, 'ms', pairs, null, who);
      }),
    ),
  ];
}

async function memory(bench: Bench, server: Server): Promise<Row[]> {
  const names = ['longshore', 'raw', 'jackd'] as const;
  const rounds = await contest(bench, names, (who) =>
    drainOnce(bench, server, who, { concurrency: 50, cold: true }),
  );
  return names.map((who) => {
    const samples = rounds.map((round) => round[who].residentMb);
    const ours = who === 'longshore';
    const name = `memory of a worker after ${count(jobs)} jobs${ours ? '' : `: ${who}`}`;
    return limitRow(name, 'MB', samples, ours ? 100 : null);
  });
}

export const beanstalkd = suite({ drain, sending, latency, rss: memory }, startServer);
