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
  { 1: 'failed, or some jobs had ended or do not exist' },
);

const where =
  'Changes only waiting jobs: ready, delayed or between two attempts. Needs a backend that finds jobs by id: sqlite, postgres, redis.';
const notAll = { 1: 'failed, or some jobs were not waiting' };

const promote = changeJobs(
  'promote',
  'promoted',
  `The job joins the ready jobs in order of age. ${where}`,
  notAll,
);

const remove = changeJobs(
  'remove',
  'removed',
  `Deletes the jobs and their records. \`longshore jobs cancel\` keeps the record. ${where}`,
  notAll,
);

const runAgain = change('jobs.runAgain', {
  path: 'jobs run-again',
  about:
    'The payload must still be stored: it is while a job waits, runs or is a dead letter, and after its end with keepPayload: true. The new job has a new idempotency key, so it runs even if the first job is done.',
  example: '0199a1b2-c3d4-7e5f',
  arg: idArgs[0],
  exits: { 2: 'the command line is wrong or the payload is not kept, and nothing was done' },
  find: async (session, id) => ({ target: await wholeId(session, id), found: null }),
  data: (of, id) => ({ id, of }),
});

const update = defineCommand({
  path: 'jobs update',
  summary: lower(changeNamed('jobs.update').summary),
  about: `Values that are not given stay, and so do the id and the attempts. A new payload is checked against the schema of the job; a member that reads [masked], as \`longshore jobs show\` prints it, keeps its value. ${where}`,
  args: idArgs,
  flags: {
    payload: payloadFlag,
    delay: {
      flags: '--delay <duration>',
      text: 'run it after this time',
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
    3: 'the job was not waiting',
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

const ofKind = { example: 'mail.send', find: kindIn } as const;

const pause = change('jobs.pause', {
  ...ofKind,
  path: 'jobs pause',
  about:
    'Jobs can still be enqueued. They wait until `longshore jobs resume` and use up no attempts. Other jobs of the queue go on.',
  data: (job) => ({ job, paused: true }),
  next: (job) => `Go on with: longshore jobs resume ${job}`,
});

const resume = change('jobs.resume', {
  ...ofKind,
  path: 'jobs resume',
  about: 'Waiting jobs become ready at once. Does nothing if the job is not paused.',
  data: (job) => ({ job, paused: false }),
});

const closeBreaker = change('jobs.closeBreaker', {
  ...ofKind,
  path: 'jobs close-breaker',
  about:
    'Resets the failures that have opened the breaker of the job. Without this command the breaker closes when a trial run succeeds. Does nothing if the breaker is closed.',
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
