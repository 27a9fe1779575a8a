import { errorText } from '../../../core/base/failure.ts';
import { reportingFailures } from '../../../core/base/store-failures.ts';
import type { DeadLetter, DeadLetters, QueueAdmin } from '../../../core/contract/admin.ts';
import { maxFlag, queueFlag } from '../config/flags.ts';
import { id, name } from '../config/values.ts';
import { type Command, defineCommand, type Input, type Result } from '../definition.ts';
import { notFound, usage } from '../errors.ts';
import { canAsk, confirm, yesFlag } from '../output/ask.ts';
import { withProgress } from '../output/progress.ts';
import { stackLines } from '../output/stack.ts';
import { type Column, count, span, when } from '../output/ui.ts';
import { exitFor } from './jobs.ts';
import {
  type Filter,
  filterFlags,
  firstOf,
  isNarrow,
  paceOf,
  pagesOf,
  rateFlag,
} from './select-dead-letters.ts';
import { unknownJob } from './select-jobs.ts';
import { untilStopped } from './stopping.ts';

const what = 'list or settle dead letters';

const list = defineCommand({
  path: 'dead list',
  summary: 'list dead letters, newest first',
  about: 'A dead letter is a job that will not run again by itself; its reason says why.',
  flags: {
    queue: queueFlag,
    ...filterFlags,
    max: maxFlag,
  },
  examples: [
    'longshore dead list',
    'longshore dead list --queue mail --max 200 --json',
    'longshore dead list --job invoice.mail --reason exhausted --newer-than 1d',
  ],
  exits: { 3: 'the queue that was asked for is not there' },
  async run({ flags, session, ui, io }) {
    const admin = await session.admin(what);
    const { queue, max } = flags;
    if (queue !== undefined) await session.queues([queue]);
    const now = io.clock.now();
    const found = await firstOf(admin.deadLetters, flags, max, now);
    return {
      data: { deadLetters: found.map(withoutBody) },
      text: found.length > 0 ? ui.table(found, columnsAt(now)) : await noneText(flags, session),
    };
  },
});

const columnsAt = (now: number): readonly Column<DeadLetter>[] => [
  { title: 'id', value: (row) => row.id, whole: true },
  { title: 'job', value: (row) => row.job },
  { title: 'queue', value: (row) => row.queue },
  { title: 'reason', value: (row) => row.reason, style: () => 'red' },
  { title: 'runs', align: 'right', value: (row) => String(row.attempt) },
  { title: 'died', align: 'right', value: (row) => `${span(now - row.diedAt)} ago` },
  { title: 'error', value: (row) => row.error },
];

/** The stored text holds the payload, which does not belong into a listing. */
function withoutBody({ body, ...letter }: DeadLetter): Omit<DeadLetter, 'body'> & { bytes: number } {
  return { ...letter, bytes: Buffer.byteLength(body) };
}

const show = defineCommand({
  path: 'dead show',
  summary: 'show one dead letter',
  about:
    'With --body it prints the stored text too, payload and signature included: handle it like the data in it.',
  args: [{ name: '<id>', text: 'id of the job', parse: id }],
  flags: { body: { flags: '--body', text: 'print the stored text too' } },
  examples: ['longshore dead show 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b --body'],
  exits: { 3: 'no such dead letter' },
  async run({ args, flags, session, ui, io }) {
    const admin = await session.admin(what);
    const [wanted = ''] = args;
    const letter = await find(admin.deadLetters, wanted);
    if (!letter) throw notFound(`There is no dead letter ${wanted} here. See \`longshore dead list\`.`);
    const shown = withoutBody(letter);
    const stack = await stackOf(session, letter);
    const facts = ui.facts([
      ['id', letter.id],
      ['job', letter.job],
      ['queue', letter.queue],
      ['reason', letter.reason],
      ['error', letter.error],
      ['runs', String(letter.attempt)],
      ['died', `${when(letter.diedAt)} (${span(io.clock.now() - letter.diedAt)} ago)`],
      ['size', `${shown.bytes} bytes`],
      ['body', flags.body ? letter.body : null],
    ]);
    const deadLetter = { ...shown, stack, ...(flags.body && { body: letter.body }) };
    return {
      data: { deadLetter },
      text: stack === null ? facts : `${facts}\n\n${stackLines(stack, ui, io.cwd)}`,
    };
  },
});

/** Of its last attempt, where its record is kept and tells of the same death. */
async function stackOf(session: Input['session'], { id, error }: DeadLetter): Promise<string | null> {
  const { stores } = await session.client();
  const last = (await stores.records.get(id).catch(() => null))?.attempts.at(-1)?.error;
  return last && errorText(last) === error ? (last.stack ?? null) : null;
}

/** The seam lists, it does not look up. */
async function find(letters: DeadLetters, wanted: string): Promise<DeadLetter | null> {
  for await (const page of pagesOf(letters, {}, 0)) {
    const found = page.find(({ id }) => id === wanted);
    if (found) return found;
  }
  return null;
}

const selection = {
  all: { flags: '--all', text: 'all dead letters, of all queues or of --queue' },
  queue: { flags: '--queue <name>', text: 'with --all: only of this queue', parse: name },
  ...filterFlags,
} as const;
const selected = [{ name: '[id...]', text: 'ids of dead letters', parse: id }];

const retry = defineCommand({
  path: 'dead retry',
  summary: 'run dead letters again',
  about:
    'They become ready at once and count their attempts from 1. Correct the cause first. With --rate they go out over time. Ctrl-C stops between two groups.',
  args: selected,
  flags: { ...selection, rate: rateFlag },
  examples: [
    'longshore dead retry 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
    'longshore dead retry --all --queue mail',
    'longshore dead retry --all --job invoice.mail --reason exhausted --newer-than 1d --rate 20',
  ],
  exits: {
    1: 'failed, ended by Ctrl-C, or some of the ids are no dead letters',
    3: 'there was no such dead letter',
  },
  async run(input) {
    checkSelection(input);
    const { rate } = input.flags;
    if (rate !== undefined && !input.flags.all)
      throw usage('--rate is for --all; ids go out at once. Leave one of them out.');
    const admin = await session(input);
    return settle(input, admin, 'retried', (ids) => retryLetters(input, admin, ids), rate);
  },
});

const discard = defineCommand({
  path: 'dead discard',
  summary: 'remove dead letters for good',
  about: 'The jobs and their records are gone afterwards.',
  args: selected,
  flags: { ...selection, yes: yesFlag },
  examples: [
    'longshore dead discard 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b --yes',
    'longshore dead discard --all --queue mail --yes',
    'longshore dead discard --all --reason rejected --older-than 30d --yes',
  ],
  exits: {
    1: 'failed, not confirmed, or some of the ids are no dead letters',
    2: 'the command line is wrong or --yes is missing, and nothing was done',
    3: 'there was no such dead letter',
  },
  async run(input) {
    checkSelection(input);
    const { args, flags } = input;
    canAsk(input, flags.yes, 'remove dead letters');
    const admin = await session(input);
    const total = flags.all ? await deadCount(admin, flags, input.io.clock.now()) : args.length;
    if (total > 0) await confirm(input, flags.yes, `Remove ${count(total, 'dead letter')} for good?`);
    return settle(input, admin, 'discarded', (ids) => admin.deadLetters.discard(ids));
  },
});

interface Selection extends Pick<Input, 'args' | 'io' | 'json' | 'session'> {
  readonly flags: Filter & { readonly all: boolean | undefined };
}

function checkSelection({ args, flags }: Selection): void {
  if (flags.all && args.length > 0)
    throw usage('Expected either ids or --all, got both. Leave one of them out.');
  if (!flags.all && args.length === 0)
    throw usage('Expected the ids of dead letters, or --all. `longshore dead list` shows them.');
  if (flags.queue !== undefined && !flags.all)
    throw usage('--queue narrows --all; ids need no queue. Add --all or leave --queue out.');
  if (isNarrow(flags) && !flags.all)
    throw usage(
      '--job, --reason, --older-than and --newer-than narrow --all; ids need none. Add --all or leave them out.',
    );
}

async function session({ session, flags }: Selection): Promise<QueueAdmin> {
  const admin = await session.admin(what);
  if (flags.queue !== undefined) await session.queues([flags.queue]);
  return admin;
}

async function noneText(filter: Filter, session: Input['session']): Promise<string> {
  if (!isNarrow(filter)) return 'No dead letters.';
  return `No such dead letters.${unknownJob((await session.config()).app, filter.job)}`;
}

/** Where the queue keeps no records, the store beside it has to hear that they wait again. */
async function retryLetters(
  { session }: Selection,
  admin: QueueAdmin,
  ids: readonly string[],
): Promise<number> {
  const retried = await admin.deadLetters.retry(ids);
  const records = (await session.store())?.records ?? (await session.backend()).stores?.records;
  // When some were no dead letters it is not known which.
  if (retried < ids.length) return retried;
  const { app } = await session.config();
  await reportingFailures(app.events, 'recording retries', ids, async () => records?.writer?.retried?.(ids));
  return retried;
}

async function deadCount(admin: QueueAdmin, filter: Filter, now: number): Promise<number> {
  if (!isNarrow(filter)) return (await admin.stats(filter.queue)).reduce((sum, { dead }) => sum + dead, 0);
  let sum = 0;
  for await (const page of pagesOf(admin.deadLetters, filter, now)) sum += page.length;
  return sum;
}

async function settle(
  input: Selection,
  admin: QueueAdmin,
  verb: 'retried' | 'discarded',
  act: (ids: readonly string[]) => Promise<number>,
  rate?: number,
): Promise<Result> {
  const { args, flags, io, session } = input;
  if (!flags.all) {
    const missing: string[] = [];
    const ids = [...new Set(args)];
    for (const one of ids) if ((await act([one])) === 0) missing.push(one);
    const done = ids.length - missing.length;
    return {
      data: { [verb]: done, missing },
      text: [
        ...missing.map((one) => `${one}  is no dead letter here`),
        `${count(done, 'dead letter')} ${verb}.`,
      ].join('\n'),
      exit: exitFor(done, ids.length),
    };
  }
  const now = io.clock.now();
  const total = await deadCount(admin, flags, now);
  let done = 0;
  const settleAll = (signal: AbortSignal): Promise<boolean> =>
    withProgress(input, verb, total, async (bar) => {
      const pace = paceOf(rate, total, { clock: io.clock, signal });
      for await (const page of pagesOf(admin.deadLetters, flags, now)) {
        for (const piece of pace.piecesOf(page.map(({ id }) => id))) {
          if (piece.length === 0) continue;
          await pace.next(piece.length);
          if (signal.aborted) return true;
          const settled = await act(piece);
          done += settled;
          bar.add(settled);
        }
      }
      return signal.aborted;
    });
  const stopped = await untilStopped(input, settleAll);
  const ended = stopped ? ' Ended before all were.' : '';
  return {
    data: { [verb]: done, missing: [] },
    text:
      done === 0 && !stopped
        ? await noneText(flags, session)
        : `${count(done, 'dead letter')} ${verb}.${ended}`,
    exit: stopped ? 1 : done === 0 ? 3 : 0,
  };
}

export const deadCommands: readonly Command[] = [list, show, retry, discard];
