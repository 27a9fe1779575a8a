/** A worker with one blocked and one idle process; prints their ids and is then killed by its test. */

import { until } from '../../kit/until.ts';
import * as jobs from './jobs.ts';
import { createBench } from './kit.ts';

const t = createBench([jobs.inProcess], { leaseMs: 5_000 });
const idle = t.run(jobs.inProcess, { act: 'where' });
await t.client.enqueue(jobs.inProcess, { act: 'sayAndBlock' });
await idle;
await until(() => t.eventsOf('job.log').length === 1);
process.stdout.write(
  t
    .isolates()
    .map(({ pid }) => `${pid}\n`)
    .join(''),
);
