import { totalOf as countOf } from '../../../core/operations/bulk.ts';
import type {
  BulkOptions,
  BulkResult,
  DeadLetterSelection,
  Operator,
} from '../../../core/operations/types.ts';
import { flag } from '../config/flags.ts';
import { given, id, integer, name } from '../config/values.ts';
import { type Command, defineCommand, type Input, type Plan, type Result } from '../definition.ts';
import { usage } from '../errors.ts';
import { withProgress } from '../output/progress.ts';
import { count, number } from '../output/ui.ts';
import { exitFor } from './change.ts';
import {
  checkDead,
  deadIds,
  expiresInFlag,
  type FilterValues,
  filterFlags,
  filterOf,
  isNarrow,
  noneText,
} from './dead.ts';
import { tellAway } from './perform.ts';
import { untilStopped } from './until-stopped.ts';

const selectionFlags = {
  all: flag('--all', 'all dead letters'),
  queue: flag('--queue <name>', 'only of this queue', name),
  ...filterFlags,
  dryRun: flag('--dry-run', 'count the dead letters, and change nothing'),
  max: flag('--max <n>', 'at most this many, newest first', integer(1)),
} as const;

const selectedArgs = [
  { name: '[id...]', text: 'ids of dead letters, or their first characters', parse: id },
] as const;

interface Settling extends Pick<Input, 'args' | 'io' | 'json' | 'note' | 'session' | 'yes'> {
  readonly flags: FilterValues & {
    readonly all: boolean | undefined;
    readonly dryRun: boolean | undefined;
    readonly max: number | undefined;
  };
}

function checkSelection({ args, flags }: Pick<Settling, 'args' | 'flags'>): void {
  if (flags.all && args.length > 0)
    throw usage('Expected either ids or --all, got both. Leave one of them out.');
  if (args.length === 0 && !isByFilter(flags))
    throw usage(
      'Expected the ids of dead letters, a filter such as --group, or --all. `longshore dead list` and `dead groups` show them.',
    );
  if (args.length > 0 && isByFilter(flags))
    throw usage(
      'Expected either ids or a filter (--queue, --job, --reason, --tenant, --error, --group, --older-than, --newer-than), got both. Leave one of them out.',
    );
}

/** Whether the letters are selected by a filter or `--all` instead of ids. */
const isByFilter = (flags: Settling['flags']): boolean =>
  flags.all === true || flags.queue !== undefined || isNarrow(flags);

async function selectionOf({ args, flags, io, session }: Settling): Promise<DeadLetterSelection> {
  if (isByFilter(flags)) return { filter: filterOf(flags, io.clock.now()) };
  return { ids: await deadIds(session, args) };
}

const retry = defineCommand({
  path: 'dead retry',
  summary: 'run dead letters again',
  about:
    'Fix the cause first. The jobs become ready at once, and their attempts count from 1. On a terminal it shows the number and asks, unless ids are given. --rate spreads the retries over time. --stop-above retries in groups, small at first, and waits for each. Expired letters need --expires-in. Ctrl-C stops between two groups.',
  args: selectedArgs,
  flags: {
    ...selectionFlags,
    rate: flag('--rate <n>', 'retries per second, spread evenly; by default all at once', integer(1, 10_000)),
    stopAbove: flag(
      '--stop-above <percent>',
      'stop when more than this percentage of the retried jobs has failed again',
      integer(0, 100),
    ),
    expiresIn: expiresInFlag,
  },
  examples: [
    'longshore dead retry 0199a1b2-c3d4-7e5f',
    'longshore dead retry --queue mail --dry-run',
    'longshore dead retry --job invoice.mail --reason exhausted --newer-than 1d --rate 20 --stop-above 10',
  ],
  exits: {
    2: 'the command line is wrong, and nothing was done',
    1: 'failed, not confirmed, ended by Ctrl-C or --stop-above, or some letters were not there or could not be retried',
    3: 'there was no such dead letter',
  },
  would: 'retry dead letters',
  asks(input) {
    checkSelection(input);
    return false;
  },
  run(input) {
    const { rate, stopAbove, expiresIn } = input.flags;
    const more = given({ perSecond: rate, stopAbovePercent: stopAbove, expiresInMs: expiresIn });
    const { io, json } = input;
    const canBeAsked = io.isTTY.stdin && io.isTTY.stderr && !json;
    return planned(
      input,
      'retried',
      canBeAsked && isByFilter(input.flags),
      'Retry',
      (deadLetters, selection, options) => deadLetters.retry(selection, { ...options, ...more }),
    );
  },
});

const discard = defineCommand({
  path: 'dead discard',
  summary: 'remove dead letters for good',
  about: 'Deletes the jobs and their records.',
  args: selectedArgs,
  flags: selectionFlags,
  examples: [
    'longshore dead discard 0199a1b2-c3d4-7e5f --yes',
    'longshore dead discard --queue mail --yes',
    'longshore dead discard --reason rejected --older-than 30d --dry-run',
  ],
  exits: {
    1: 'failed, not confirmed, or some letters were not there',
    3: 'there was no such dead letter',
  },
  would: 'remove dead letters',
  asks(input) {
    checkSelection(input);
    return !input.flags.dryRun;
  },
  run: (input) =>
    planned(input, 'discarded', true, 'Remove', (deadLetters, selection, options) =>
      deadLetters.discard(selection, options),
    ),
});

type Act = (
  deadLetters: Operator['deadLetters'],
  selection: DeadLetterSelection,
  options: BulkOptions,
) => Promise<BulkResult>;

/** @param asks whether to ask, unless `--yes` or `--dry-run` is given */
async function planned(
  input: Settling,
  verb: 'retried' | 'discarded',
  asks: boolean,
  imperative: string,
  act: Act,
): Promise<Plan> {
  const { flags, session } = input;
  await checkDead(session, flags.queue);
  const { deadLetters } = await session.operator();
  const selection = await selectionOf(input);
  const total = asks && !input.yes && !flags.dryRun ? await totalOf(input, selection) : undefined;
  const forGood = verb === 'discarded' ? ' for good' : '';
  return {
    many: total ?? 0,
    question: total ? `${imperative} ${count(total, 'dead letter')}${forGood}?` : null,
    act: () => settle(input, verb, selection, (...call) => act(deadLetters, ...call), total),
  };
}

/** The number of selected letters, for the question or the progress bar. */
async function totalOf({ flags, session }: Settling, selection: DeadLetterSelection): Promise<number> {
  const { max: limit } = flags;
  const counted = await countOf(await session.keyless(), selection, limit);
  if (counted !== null) return counted;
  const { deadLetters } = await session.operator();
  return (await deadLetters.discard(selection, { dryRun: true, ...given({ limit }) })).total ?? 0;
}

async function settle(
  input: Settling,
  verb: 'retried' | 'discarded',
  selection: DeadLetterSelection,
  act: (selection: DeadLetterSelection, options: BulkOptions) => Promise<BulkResult>,
  counted?: number,
): Promise<Result> {
  const { flags, io, json, session } = input;
  const { dryRun = false } = flags;
  const limit = counted ?? flags.max; // not more than the user has confirmed
  const hasBar = io.isTTY.stderr && !json && !dryRun && isByFilter(flags);
  const total = hasBar ? (counted ?? (await totalOf(input, selection))) : 0;
  const result = await untilStopped(input, (signal) =>
    withProgress(input, verb, total, async (bar) => {
      let shown = 0;
      const onProgress = ({ done }: { readonly done: number }): void => {
        bar.add(done - shown);
        shown = done;
      };
      return act(selection, { dryRun, signal, onProgress, ...given({ limit }) });
    }),
  );
  const { done, missing, refused, left, ended, ran, failedAgain, unavailable } = result;
  if (unavailable) tellAway(unavailable, input);
  const found = dryRun ? (result.total ?? 0) : done;
  const exit = unavailable ? 1 : exitOf(result, found, selection);
  const isNone = isByFilter(flags) && found === 0 && refused.length === 0 && ended === 'all';
  return {
    data: {
      [verb]: done,
      missing,
      refused,
      left,
      ended,
      ...(dryRun && { dryRun, would: found }),
      ...(ran > 0 && { ran, failedAgain }),
      ...(unavailable && { unavailable }),
    },
    text: isNone ? await noneText(flags, session) : textOf(result, verb, dryRun, found),
    exit,
  };
}

/** At most this many ids are listed. */
const mostNamed = 20;

function textOf(result: BulkResult, verb: string, dryRun: boolean, found: number): string {
  const { missing, refused, left, ended, ran, failedAgain } = result;
  const named = [
    ...missing.map((one) => `${one}  is no dead letter here`),
    ...refused.map(({ id, why }) => `${id}  ${why}`),
  ];
  const more = named.length > mostNamed ? [`and ${number(named.length - mostNamed)} more`] : [];
  const end = {
    all: '',
    partly: ` ${count(left, 'other')} could not be found: another user has changed them, or the queue does not show them at the moment.`,
    limit: ' There are more.',
    stopped: ' Stopped before the end.',
    failing: ` Stopped: ${number(failedAgain)} of ${number(ran)} that ran again failed again.`,
  }[ended];
  const sentence = dryRun
    ? `${count(found, 'dead letter')} would be ${verb}. Nothing was changed.`
    : `${count(found, 'dead letter')} ${verb}.${end}`;
  return [...named.slice(0, mostNamed), ...more, sentence].join('\n');
}

function exitOf({ ended, refused }: BulkResult, found: number, selection: DeadLetterSelection): 0 | 1 | 3 {
  if (ended === 'stopped' || ended === 'failing') return 1;
  if ('ids' in selection && refused.length === 0)
    return ended === 'limit' ? 0 : (exitFor(found, selection.ids.length) as 0 | 1 | 3);
  if (refused.length > 0 || ended === 'partly') return 1;
  return found === 0 ? 3 : 0;
}

export const settleCommands: readonly Command[] = [retry, discard];
