/** Commands that change jobs, or all jobs of a name. */

import { hint } from '../../../core/base/nearest.ts';
import { textOf } from '../../../core/operations/operation.ts';
import { changeNamed } from '../../../core/operations/operator.ts';
import { flag } from '../config/flags.ts';
import { duration, given, moment, priority } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { notFound, usage } from '../errors.ts';
import type { Session } from '../session.ts';
import { change, changeJobs, lower } from './change.ts';
import { payloadFlag, payloadOf } from './enqueue.ts';
import { idArgs, wholeId } from './select-jobs.ts';

const cancel = changeJobs(
  'cancel',
  'cancelled',
  'A waiting job is cancelled at once. The signal of a running one aborts within about a second.',
  { 1: 'failed, or some of the jobs had ended or are not known' },
);

const where =
  'Only jobs that wait are touched: ready, delayed or between two attempts. Works where jobs are found by their ids: sqlite, postgres, redis.';
const notAll = { 1: 'failed, or some of the jobs do not wait' };

const promote = changeJobs(
  'promote',
  'promoted',
  `A delayed job, or one that waits for its next attempt, takes the place that its age gives it. ${where}`,
  notAll,
);

const remove = changeJobs(
  'remove',
  'removed',
  `Nothing is left of them; \`longshore jobs cancel\` keeps the record. ${where}`,
  notAll,
);

const runAgain = change('jobs.runAgain', {
  path: 'jobs run-again',
  backends: 'ids',
  about:
    'The payload has to be kept: that of a job that waits, runs or is a dead letter is, and with keepPayload: true that of one that is done. The new job has an idempotency key of its own, so that it runs though the first one is done.',
  example: '0199a1b2-c3d4-7e5f',
  arg: idArgs[0],
  exits: { 2: 'the command line is wrong or the payload is not kept, and nothing was done' },
  find: async (session, id) => ({ target: await wholeId(session, id), found: null }),
  data: (of, id) => ({ id, of }),
});

const update = defineCommand({
  path: 'jobs update',
  backends: 'ids',
  summary: lower(changeNamed('jobs.update').summary),
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
      text: `${wanted}  ${textOf(changeNamed('jobs.update'), updated, wanted)}`,
      exit: updated ? 0 : 3,
    };
  },
});

async function kindIn(session: Session, target: string) {
  const { jobs } = (await session.config()).app;
  if (jobs.has(target)) return { target, found: null };
  throw notFound(`The app has no job "${target}".${hint(target, jobs.keys())}`);
}

const ofKind = { backends: 'job', example: 'mail.send', find: kindIn } as const;

const pause = change('jobs.pause', {
  ...ofKind,
  path: 'jobs pause',
  about:
    'Jobs can still be enqueued: they wait, and no attempt is spent, until `longshore jobs resume`. Other jobs of the queue go on.',
  data: (job) => ({ job, paused: true }),
  next: (job) => `Go on with: longshore jobs resume ${job}`,
});

const resume = change('jobs.resume', {
  ...ofKind,
  path: 'jobs resume',
  about: 'What has waited comes at once. Does nothing to a job that is not paused.',
  data: (job) => ({ job, paused: false }),
});

const closeBreaker = change('jobs.closeBreaker', {
  ...ofKind,
  path: 'jobs close-breaker',
  about:
    'Forgets the failures in a row that have opened the breaker of the job. By itself it closes when a job succeeds that is tried. Does nothing to a breaker that is closed.',
  data: (job) => ({ job, breaker: 'closed' }),
});

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
