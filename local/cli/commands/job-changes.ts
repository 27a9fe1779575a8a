/** What people do to jobs that wait or run, and to all jobs of a name. */

import type { CancelResult } from '../../../core/contract/store.ts';
import type { Operator } from '../../../core/operations/types.ts';
import { flag } from '../config/flags.ts';
import { hint } from '../config/nearest.ts';
import { duration, id, moment, name, priority } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';
import { type Command, type Definition, defineCommand } from '../definition.ts';
import { notFound, usage } from '../errors.ts';
import { count } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { idArgs, wholeId, wholeIds } from './job-ids.ts';
import { exitFor } from './jobs.ts';
import { payloadFlag, payloadOf } from './payload-argument.ts';

const ids = [{ name: '<id...>', text: 'ids of jobs, or how they begin', parse: id }] as const;

/** @param done what has happened to those of which it is said */
async function onIds<T extends string | boolean>(
  session: Session,
  args: readonly string[],
  act: (jobs: Operator['jobs'], ids: readonly string[]) => Promise<Readonly<Record<string, T>>>,
  done: string,
  saying: (result: T) => string,
) {
  const { jobs } = await session.operator();
  const results = await act(jobs, await wholeIds(session, args));
  const values = Object.values(results);
  const hits = values.filter((one) => one === true || one === 'cancelled' || one === 'cancelling').length;
  const lines = Object.entries(results).map(([one, result]) => `${one}  ${saying(result)}`);
  return {
    data: { [done]: hits, results },
    text: [...lines, `${count(hits, 'job')} ${done}.`].join('\n'),
    exit: exitFor(hits, values.length),
  };
}

const cancel = defineCommand({
  path: 'jobs cancel',
  backends: 'ids',
  summary: 'cancel jobs that wait or run',
  about: 'A waiting job is cancelled at once. The signal of a running one aborts within about a second.',
  args: ids,
  examples: ['longshore jobs cancel 0199a1b2-c3d4-7e5f'],
  exits: {
    1: 'failed, or some of the jobs had ended or are not known',
    3: 'none of the jobs could be cancelled',
  },
  run: ({ args, session }) =>
    onIds(
      session,
      args,
      (jobs, all) => jobs.cancel(all),
      'cancelled',
      (result) => saying[result],
    ),
});

const saying: Readonly<Record<CancelResult, string>> = {
  cancelled: 'cancelled',
  cancelling: 'runs, and will be aborted',
  finished: 'has already ended',
  unknown: 'is not known, or no longer kept',
};

const runAgain = defineCommand({
  path: 'jobs run-again',
  backends: 'ids',
  summary: 'enqueue a new job with the payload of another one',
  about:
    'The payload has to be kept: that of a job that waits, runs or is a dead letter is, and with keepPayload: true that of one that is done. The new job has an idempotency key of its own, so that it runs though the first one is done.',
  args: idArgs,
  examples: ['longshore jobs run-again 0199a1b2-c3d4-7e5f'],
  exits: { 2: 'the command line is wrong or the payload is not kept, and nothing was done' },
  async run({ args, session }) {
    const { jobs } = await session.operator();
    const of = await wholeId(session, args[0] ?? '');
    const id = await jobs.runAgain(of);
    return { data: { id, of }, text: `${id}  runs what ${of} was given` };
  },
});

const where =
  'Only jobs that wait are touched: ready, delayed or between two attempts. Works where jobs are found by their ids: sqlite, postgres, redis.';
const notWaiting = 'does not wait: it runs, has ended or is not known';
const waiting = (done: string) => (hit: boolean) => (hit ? done : notWaiting);

const exits = (done: string) => ({
  1: 'failed, or some of the jobs do not wait',
  3: `none of the jobs could be ${done}`,
});

const promote = defineCommand({
  path: 'jobs promote',
  backends: 'ids',
  summary: 'let jobs that wait run now',
  about: `A delayed job, or one that waits for its next attempt, takes the place that its age gives it. ${where}`,
  args: ids,
  examples: ['longshore jobs promote 0199a1b2-c3d4-7e5f'],
  exits: exits('promoted'),
  run: ({ args, session }) =>
    onIds(session, args, (jobs, all) => jobs.promote(all), 'promoted', waiting('promoted')),
});

const remove = defineCommand({
  path: 'jobs remove',
  backends: 'ids',
  summary: 'take jobs that wait out of their queues, with their records',
  about: `Nothing is left of them; \`longshore jobs cancel\` keeps the record. ${where}`,
  args: ids,
  examples: ['longshore jobs remove 0199a1b2-c3d4-7e5f'],
  exits: exits('removed'),
  run: ({ args, session }) =>
    onIds(session, args, (jobs, all) => jobs.remove(all), 'removed', waiting('removed')),
});

const update = defineCommand({
  path: 'jobs update',
  backends: 'ids',
  summary: 'give a job that waits another payload, time or priority',
  about: `What is not given stays, and so do its id and its attempts. A new payload is checked against the schema of the job; a member that reads [masked], as \`longshore jobs show\` prints it, keeps its value. ${where}`,
  args: idArgs,
  flags: {
    payload: payloadFlag,
    delay: {
      flags: '--delay <duration>',
      text: 'run it so long after now',
      parse: duration(),
      conflicts: ['runAt'],
    },
    runAt: flag('--run-at <moment>', 'not before this moment, like 2030-01-31T18:00:00Z', moment),
    priority: flag('--priority <p>', '0 (first) to 9 (last), or critical, high, normal, low', priority),
  },
  examples: [
    `longshore jobs update 0199a1b2-c3d4-7e5f --payload '{"invoiceId":"1042"}'`,
    'longshore jobs update 0199a1b2-c3d4-7e5f --delay 2h --priority low',
  ],
  exits: {
    2: 'the command line or the payload is wrong, and nothing was done',
    3: 'the job does not wait',
  },
  async run(input) {
    const { args, flags, session } = input;
    const { payload: text, delay: delayMs, runAt, priority } = flags;
    if ([text, delayMs, runAt, priority].every((one) => one === undefined))
      throw usage('Expected --payload, --delay, --run-at or --priority, got none of them.');
    const payload = text === undefined ? undefined : await payloadOf(input, text);
    const { jobs } = await session.operator();
    const wanted = await wholeId(session, args[0] ?? '');
    const updated = await jobs.update(wanted, given({ payload, delayMs, runAt, priority }));
    return {
      data: { id: wanted, updated },
      text: `${wanted}  ${updated ? 'updated' : notWaiting}`,
      exit: updated ? 0 : 3,
    };
  },
});

/** All jobs of a name. @param act resolves with the JSON beside the name, and with the sentence */
const onName = (
  command: Pick<Definition<never>, 'path' | 'summary' | 'about'>,
  act: (jobs: Operator['jobs'], job: string) => Promise<void>,
  data: object,
  text: (job: string) => string,
): Command =>
  defineCommand({
    ...command,
    backends: 'job',
    args: [{ name: '<job>', text: 'name of a job of the app', parse: name }],
    examples: [`longshore ${command.path} mail.send`],
    exits: { 3: 'the app has no such job' },
    async run({ args: [job = ''], session }) {
      const { jobs } = (await session.config()).app;
      if (!jobs.has(job)) throw notFound(`The app has no job "${job}".${hint(job, jobs.keys())}`);
      await act((await session.operator()).jobs, job);
      return { data: { job, ...data }, text: text(job) };
    },
  });

const pause = onName(
  {
    path: 'jobs pause',
    summary: 'stop running the jobs of a name, on all workers',
    about:
      'Workers hear of it within 5 seconds. Running jobs end normally, and jobs can still be enqueued: they wait, and no attempt is spent, until `longshore jobs resume`. Other jobs of the queue go on.',
  },
  (jobs, job) => jobs.pause(job),
  { paused: true },
  (job) => `${job} is paused. Go on with: longshore jobs resume ${job}`,
);

const resume = onName(
  {
    path: 'jobs resume',
    summary: 'run the jobs of a paused name again',
    about: 'What has waited comes at once. Does nothing to a job that is not paused.',
  },
  (jobs, job) => jobs.resume(job),
  { paused: false },
  (job) => `${job} runs.`,
);

const closeBreaker = onName(
  {
    path: 'jobs close-breaker',
    summary: 'run the jobs that wait because others of their name have failed',
    about:
      'Forgets the failures in a row that have opened the breaker of the job. By itself it closes when a job succeeds that is tried. Does nothing to a breaker that is closed.',
  },
  (jobs, job) => jobs.closeBreaker(job),
  { breaker: 'closed' },
  (job) => `The breaker of ${job} is closed.`,
);

export const jobChangeCommands: readonly Command[] = [
  cancel,
  runAgain,
  pause,
  resume,
  closeBreaker,
  promote,
  update,
  remove,
];
