/** What can be done with jobs that wait. */

import { duration, id, moment, priority } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';
import { type Command, defineCommand } from '../definition.ts';
import { usage } from '../errors.ts';
import { count } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { idArgs, wholeId, wholeIds } from './job-ids.ts';
import { exitFor } from './jobs.ts';
import { payloadFlag, payloadOf } from './payload-argument.ts';

const where =
  'Only jobs that wait are touched: ready, delayed or between two attempts. Works where jobs are found by their ids: sqlite, postgres, redis.';
const notWaiting = 'does not wait: it runs, has ended or is not known';
const ids = [{ name: '<id...>', text: 'ids of jobs, or how they begin', parse: id }] as const;

async function onIds(session: Session, args: readonly string[], verb: 'promote' | 'remove', done: string) {
  const { jobs } = await session.operator();
  const results = await jobs[verb](await wholeIds(session, args));
  const values = Object.values(results);
  const hits = values.filter(Boolean).length;
  return {
    data: { [done]: hits, results },
    text: [
      ...Object.entries(results).map(([one, hit]) => `${one}  ${hit ? done : notWaiting}`),
      `${count(hits, 'job')} ${done}.`,
    ].join('\n'),
    exit: exitFor(hits, values.length),
  };
}

const exits = (done: string) => ({
  1: 'failed, or some of the jobs do not wait',
  3: `none of the jobs could be ${done}`,
});

const promote = defineCommand({
  path: 'jobs promote',
  backends: 'of-ids',
  summary: 'let jobs that wait run now',
  about: `A delayed job, or one that waits for its next attempt, takes the place that its age gives it. ${where}`,
  args: ids,
  examples: ['longshore jobs promote 0199a1b2-c3d4-7e5f'],
  exits: exits('promoted'),
  run: ({ args, session }) => onIds(session, args, 'promote', 'promoted'),
});

const remove = defineCommand({
  path: 'jobs remove',
  backends: 'of-ids',
  summary: 'take jobs that wait out of their queues, with their records',
  about: `Nothing is left of them; \`longshore jobs cancel\` keeps the record. ${where}`,
  args: ids,
  examples: ['longshore jobs remove 0199a1b2-c3d4-7e5f'],
  exits: exits('removed'),
  run: ({ args, session }) => onIds(session, args, 'remove', 'removed'),
});

const update = defineCommand({
  path: 'jobs update',
  backends: 'of-ids',
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
    runAt: {
      flags: '--run-at <moment>',
      text: 'not before this moment, like 2030-01-31T18:00:00Z',
      parse: moment,
    },
    priority: {
      flags: '--priority <p>',
      text: '0 (first) to 9 (last), or critical, high, normal, low',
      parse: priority,
    },
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

export const waitingJobCommands: readonly Command[] = [promote, update, remove];
