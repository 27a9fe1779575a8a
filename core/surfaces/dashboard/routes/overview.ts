import { stoppedJobs } from '../../../features/limits/stopped-jobs.ts';
import type { MetricPeriod } from '../../../kernel/app/metric-report.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import type { Overview } from '../api.ts';
import type { Run } from '../call.ts';
import { unavailable } from './find.ts';
import { oneOf, queryOf } from './query.ts';

export const showLive: Run = ({ live }) => live.current();

export const showOverview: Run = async ({ client, live }, { url }) => {
  const { last = 'live' } = queryOf(url, { last: oneOf(['live', 'hour', 'day', 'month']) });
  const numbers = await numbersOf(client, last === 'live' ? 'hour' : last);
  const stopped = await stoppedJobs(client);
  return { live: await live.current(), numbers, stopped } satisfies Overview;
};

async function numbersOf(client: Client, last: MetricPeriod): Promise<Overview['numbers']> {
  if (!client.stores.metrics) {
    return unavailable(
      `Backend "${client.backend.name}" keeps no numbers: give the dashboard and the workers a store that does, for example sqliteStore().`,
    );
  }
  // Asks one backend, like everything else here; a client of several would add them up.
  const one = client.backends?.get(client.name ?? '') ?? client;
  const { all, series, jobs } = await one.metrics({ last });
  return { all, series, jobs };
}
