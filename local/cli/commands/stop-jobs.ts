import type { App } from '../../../core/kernel/app/app.ts';
import type { StoppedJob } from '../../../core/kernel/app/breaker.ts';
import { hint } from '../config/nearest.ts';
import { name } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { notFound } from '../errors.ts';
import { type Column, number, type Ui, when } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { type OfBackend, withBackend } from './each-backend.ts';

const args = [{ name: '<job>', text: 'name of a job of the app', parse: name }];
const exits = { 3: 'the app has no such job' };

const pause = defineCommand({
  path: 'jobs pause',
  backends: 'of-job',
  summary: 'stop running the jobs of a name, on all workers',
  about:
    'Workers hear of it within 5 seconds. Running jobs end normally, and jobs can still be enqueued: they wait, and no attempt is spent, until `longshore jobs resume`. Other jobs of the queue go on.',
  args,
  examples: ['longshore jobs pause mail.send'],
  exits,
  async run({ args: [wanted = ''], session }) {
    const job = await jobIn(session, wanted);
    await (await session.operator()).jobs.pause(job);
    return {
      data: { job, paused: true },
      text: `${job} is paused. Go on with: longshore jobs resume ${job}`,
    };
  },
});

const resume = defineCommand({
  path: 'jobs resume',
  backends: 'of-job',
  summary: 'run the jobs of a paused name again',
  about: 'What has waited comes at once. Does nothing to a job that is not paused.',
  args,
  examples: ['longshore jobs resume mail.send'],
  exits,
  async run({ args: [wanted = ''], session }) {
    const job = await jobIn(session, wanted);
    await (await session.operator()).jobs.resume(job);
    return { data: { job, paused: false }, text: `${job} runs.` };
  },
});

const closeBreaker = defineCommand({
  path: 'jobs close-breaker',
  backends: 'of-job',
  summary: 'run the jobs that wait because others of their name have failed',
  about:
    'Forgets the failures in a row that have opened the breaker of the job. By itself it closes when a job succeeds that is tried. Does nothing to a breaker that is closed.',
  args,
  examples: ['longshore jobs close-breaker mail.send'],
  exits,
  async run({ args: [wanted = ''], session }) {
    const job = await jobIn(session, wanted);
    await (await session.operator()).jobs.closeBreaker(job);
    return { data: { job, breaker: 'closed' }, text: `The breaker of ${job} is closed.` };
  },
});

async function jobIn(session: Session, wanted: string): Promise<string> {
  const { jobs }: App = (await session.config()).app;
  if (jobs.has(wanted)) return wanted;
  throw notFound(`The app has no job "${wanted}".${hint(wanted, jobs.keys())}`);
}

const columns: readonly Column<StoppedJob & OfBackend>[] = [
  { title: 'job', value: (row) => row.job },
  { title: 'state', value: stateOf, style: () => 'yellow' },
  { title: 'waiting', align: 'right', value: (row) => number(row.waiting) },
];

function stateOf({ state, until, failures }: StoppedJob): string {
  if (state === 'paused') return 'paused';
  const failed = `breaker open, ${number(failures)} failed in a row`;
  return state === 'open' && until !== null
    ? `${failed}, until ${when(until)}`
    : `${failed}, one is being tried`;
}

/** Below the queues; empty when every job may run. */
export const stoppedText = (
  ui: Ui,
  stopped: readonly (StoppedJob & OfBackend)[],
  several: boolean,
): string => (stopped.length > 0 ? `\n\n${ui.table(stopped, withBackend(columns, several))}` : '');

export const stopCommands: readonly Command[] = [pause, resume, closeBreaker];
