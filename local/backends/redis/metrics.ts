import { slices } from '../../../core/base/slices.ts';
import type { MetricRow, MetricStep, MetricStore } from '../../../core/contract/metrics.ts';
import { scripts } from './scripts.ts';
import type { RedisState } from './state.ts';

/** While a script runs the server does nothing else: it writes at most so many rows, and removes not many more. */
const stepSize = 500;

export function redisMetrics({ link, prefix }: Pick<RedisState, 'link' | 'prefix'>): MetricStore {
  const base = `${prefix}:{metrics}`;

  function call(during: string, action: string, step: MetricStep, args: readonly string[]): Promise<unknown> {
    return link.run(during, scripts.metrics, base, [action, step, ...args]);
  }

  return {
    async write(rows) {
      for (const [step, all] of Map.groupBy(rows, ({ step }) => step)) {
        for (const some of slices(all, stepSize))
          await call('writing numbers', 'write', step, some.flatMap(argsOf));
      }
    },
    async read({ step, from, to, queue = '', job }) {
      const during = 'reading numbers';
      const range = ['ZRANGEBYSCORE', `${base}:${step}`, `${from}`, `(${to}`];
      const moments = (await link.send(during, range)) as string[];
      const asked = [queue, job === undefined ? '' : `=${job}`];
      const found = await Promise.all(
        moments.map((at) => call(during, 'read', step, [at, ...asked]) as Promise<string[]>),
      );
      return found.flatMap((pairs, i) => rowsOf(step, Number(moments[i]), pairs));
    },
    purge: async (step, before) =>
      (await call('purging numbers', 'purge', step, [`${before}`, `${stepSize}`])) as number,
  };
}

const argsOf = ({ at, queue, job, source, body }: MetricRow): string[] => [
  `${at}`,
  `${queue} ${job} ${source}`,
  body,
];

function rowsOf(step: MetricStep, at: number, pairs: readonly string[]): MetricRow[] {
  const rows: MetricRow[] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    // Names hold no spaces; a source may.
    const [, queue, job, source] = /^(.*?) (.*?) (.*)$/s.exec(pairs[i]!)!;
    rows.push({ step, at, queue: queue!, job: job!, source: source!, body: pairs[i + 1]! });
  }
  return rows;
}
