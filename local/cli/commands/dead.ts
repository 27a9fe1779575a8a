import { errorText } from '../../../core/base/failure.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import { stepsOf } from '../../../core/features/steps/show.ts';
import { reasons } from '../../../core/kit/records/partitions.ts';
import { totalOf } from '../../../core/operations/bulk.ts';
import { findDeadLetter } from '../../../core/operations/edit.ts';
import { isNarrow as narrows } from '../../../core/operations/select.ts';
import type {
  DeadLetterDetail,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterItem,
} from '../../../core/operations/types.ts';
import { flag, queueFlag } from '../config/flags.ts';
import { duration, given, integer, name, oneOf, words } from '../config/values.ts';
import { type Command, defineCommand, type Input, someAway, type Values } from '../definition.ts';
import { notFound, usage } from '../errors.ts';
import { stackLines } from '../output/stack.ts';
import { type Column, count, number, span, type Under, when } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { attemptsTable, payloadText, withoutStack } from './attempts.ts';
import { payloadFlag, payloadOf } from './enqueue.ts';
import { listed } from './perform.ts';
import { backendColumn } from './running-jobs.ts';
import { chosenQueues, firstOf, idArgs, pageFlags, shortIds, unknownJob, wholeIds } from './select-jobs.ts';

export const filterFlags = {
  job: flag('--job <name>', 'only of this job', name),
  reason: flag('--reason <reason>', `only those with this reason: ${reasons.join(', ')}`, oneOf(reasons)),
  tenant: flag('--tenant <id>', 'only of this tenant', words),
  error: flag('--error <text>', 'only with this text in the error; case counts', words),
  group: flag('--group <group>', 'only of this group of `longshore dead groups`', name),
  olderThan: flag('--older-than <duration>', 'only those that died at least this long ago', duration()),
  newerThan: flag('--newer-than <duration>', 'only those that died within this time', duration()),
} as const;

export type FilterValues = Partial<Values<typeof filterFlags>> & { readonly queue?: string | undefined };

export function filterOf(flags: FilterValues, now: number): DeadLetterFilter {
  const { queue, job, reason, tenant, error, group, olderThan, newerThan } = flags;
  return given({
    ...{ queue, job, reason, tenantId: tenant, error, fingerprint: group },
    diedFrom: newerThan === undefined ? undefined : now - newerThan,
    diedBefore: olderThan === undefined ? undefined : now - olderThan + 1,
  });
}

export const isNarrow = (flags: FilterValues): boolean => narrows(filterOf(flags, 0));

/** Throws `UNSUPPORTED`, or `NOT_FOUND` for a queue that no backend has. */
export async function checkDead(session: Session, queue?: string): Promise<void> {
  await session.admin('list or settle dead letters');
  if (queue !== undefined) await chosenQueues(session, [queue]);
}

/** Completes shortened ids. Without records it looks them up in the dead letters. */
export function deadIds(session: Session, given: readonly string[]): Promise<readonly string[]> {
  const letters = onDemand(async () => {
    const { deadLetters } = await session.operator();
    return (await deadLetters.page({}, { max: 10_000 })).letters;
  });
  return wholeIds(session, given, async (beginning) =>
    (await letters()).filter(({ id }) => id.startsWith(beginning)),
  );
}

export async function noneText(flags: FilterValues, session: Session): Promise<string> {
  if (!isNarrow(flags)) return 'No dead letters.';
  return `No such dead letters.${unknownJob((await session.config()).app, flags.job)}`;
}

const list = defineCommand({
  path: 'dead list',
  summary: 'list dead letters, newest first',
  about: 'A dead letter is a job that will not run again by itself; its reason says why.',
  flags: {
    queue: queueFlag,
    ...filterFlags,
    ...pageFlags,
  },
  examples: [
    'longshore dead list',
    'longshore dead list --queue mail --max 200 --json',
    'longshore dead list --job invoice.mail --reason exhausted --newer-than 1d',
  ],
  exits: { 1: someAway, 3: 'the queue that was asked for is not there' },
  async run(input) {
    const { flags, session, ui, io } = input;
    const { queue, max, after } = flags;
    await checkDead(session, queue);
    const now = io.clock.now();
    const { deadLetters } = await session.operator();
    const filter = filterOf(flags, now);
    const pageOf = async (page: Parameters<typeof deadLetters.page>[1]) => {
      const { letters: found, ...rest } = await deadLetters.page(filter, page);
      return { found, ...rest };
    };
    const { found, ...rest } = await firstOf(pageOf, max, after);
    const { next } = rest;
    const data = { deadLetters: found, ...rest };
    if (found.length === 0) return listed(input, data, await noneText(flags, session));
    const isPart = next !== null && !isNarrow(flags);
    const total = isPart ? await totalOf(await session.keyless(), { filter }) : null;
    const shown = `${number(found.length)}${total === null ? '' : ` of ${number(total)}`}`;
    const footer = `${shown} dead letter${found.length === 1 ? '' : 's'}, newest first.`;
    const older = next === null ? '' : ` Older ones: the same with --after ${next}`;
    const columns = [...backendColumn(found), ...columnsAt(now, shortIds(found.map(({ id }) => id)))];
    return listed(input, data, `${ui.table(found, columns, errorUnder)}\n\n${footer}${older}`);
  },
});

const columnsAt = (now: number, short: (id: string) => string): readonly Column<DeadLetterItem>[] => [
  { title: 'id', value: (row) => short(row.id), whole: true },
  { title: 'job', value: (row) => row.job },
  { title: 'queue', value: (row) => row.queue },
  { title: 'reason', value: (row) => row.reason, style: () => 'red' },
  { title: 'runs', align: 'right', value: (row) => number(row.attempt) },
  { title: 'died', align: 'right', value: (row) => `${span(now - row.diedAt)} ago` },
];

const errorUnder: Under<{ readonly error: string }> = { text: ({ error }) => error, style: () => 'dim' };

const groups = defineCommand({
  path: 'dead groups',
  summary: 'group dead letters by their error',
  about:
    'A group has the same job, reason and error; numbers, ids, paths and quoted values in the error may differ. Reads the newest letters only.',
  flags: {
    queue: queueFlag,
    ...filterFlags,
    look: flag('--look <n>', 'how many letters to read, newest first', integer(1, 1_000_000), '5000'),
  },
  examples: ['longshore dead groups', 'longshore dead groups --job invoice.mail --newer-than 1d'],
  exits: { 1: someAway, 3: 'the queue that was asked for is not there' },
  async run(input) {
    const { flags, session, ui, io } = input;
    await checkDead(session, flags.queue);
    const now = io.clock.now();
    const { deadLetters } = await session.operator();
    const result = await deadLetters.groups(filterOf(flags, now), flags.look);
    const { groups: found, looked, complete } = result;
    if (found.length === 0) return listed(input, { ...result }, await noneText(flags, session));
    const letters = found.reduce((sum, one) => sum + one.count, 0);
    const more = complete
      ? '.'
      : ` among the newest ${number(looked)}. There are older ones: look at more with --look`;
    const footer = `${count(found.length, 'group')} of ${count(letters, 'dead letter')}${more}`;
    const table = ui.table(found, groupColumns(now, complete), errorUnder);
    return listed(input, { ...result }, `${table}\n\n${footer}`);
  },
});

const groupColumns = (now: number, complete: boolean): readonly Column<DeadLetterGroup>[] => [
  { title: 'group', value: (row) => row.fingerprint, whole: true },
  { title: 'letters', align: 'right', value: (row) => `${number(row.count)}${complete ? '' : '+'}` },
  { title: 'job', value: (row) => row.job },
  { title: 'reason', value: (row) => row.reason, style: () => 'red' },
  { title: 'newest', align: 'right', value: (row) => `${span(now - row.newestAt)} ago` },
  { title: 'oldest', align: 'right', value: (row) => `${span(now - row.oldestAt)} ago` },
];

const show = defineCommand({
  path: 'dead show',
  summary: 'show one dead letter with its payload and its attempts',
  about:
    'Values under names that look like secrets are masked. --body also prints the stored text, with the unmasked payload and the signature: treat it as confidential.',
  args: idArgs,
  flags: { body: flag('--body', 'print the stored text too') },
  examples: ['longshore dead show 0199a1b2-c3d4-7e5f'],
  exits: { 3: 'no such dead letter' },
  async run({ args, flags, session, ui, io }) {
    await checkDead(session);
    const [wanted = ''] = await deadIds(session, args);
    const { deadLetters } = await session.operator();
    const detail = await deadLetters.show(wanted);
    if (!detail) throw notFound(`There is no dead letter ${wanted} here. See \`longshore dead list\`.`);
    const { letter, attempts, ...rest } = detail;
    const on = await findDeadLetter(await session.keyless(), wanted);
    const { problem } = on ? await stepsOf(on.client.stores, wanted, io.clock.now()) : { problem: null };
    const body = flags.body && on ? on.letter.body : null;
    const stack = stackOf(detail);
    const parts = [
      ui.facts([...factsOf(detail, io.clock.now()), ['steps', problem], ['body', body]]),
      attemptsTable(attempts, null, ui),
      stack === null ? '' : stackLines(stack, ui, io.cwd),
    ];
    const shown = {
      ...{ ...letter, ...rest, attempts: attempts.map(withoutStack), stack },
      ...(problem !== null && { stepsProblem: problem }),
    };
    return {
      data: { deadLetter: { ...shown, ...(body !== null && { body }) } },
      text: parts.filter((part) => part !== '').join('\n\n'),
    };
  },
});

type Facts = Parameters<Input['ui']['facts']>[0];

function factsOf({ letter, envelope, payload, editable, expired }: DeadLetterDetail, now: number): Facts {
  const { idempotencyKey: key = null, expiresAt = null, context = null, kid = null } = envelope ?? {};
  return [
    ['id', letter.id],
    ['job', letter.job],
    ['queue', letter.queue],
    ['reason', letter.reason],
    ['error', letter.error],
    ['group', letter.fingerprint],
    ['runs', envelope ? `${letter.attempt} of ${envelope.maxRetries + 1}` : String(letter.attempt)],
    ['died', `${when(letter.diedAt)} (${span(now - letter.diedAt)} ago)`],
    ['size', `${letter.bytes} bytes`],
    ['tenant', letter.tenantId],
    ['request', context?.requestId ?? null],
    ['trace', context?.traceparent ?? null],
    ['key', key],
    ['enqueued', envelope && when(envelope.issuedAt)],
    ['expires', expiresAt === null ? null : `${when(expiresAt)}${expired ? ', which is over' : ''}`],
    ['signed by', kid],
    ['payload', payload && payloadText(payload)],
    ['editable', editable === true ? 'yes: longshore dead edit' : editable],
  ];
}

/** The stack of the last attempt, if its error is the one of the dead letter. */
function stackOf({ letter, attempts }: DeadLetterDetail): string | null {
  const last = attempts.at(-1)?.error;
  return last && errorText(last) === letter.error ? (last.stack ?? null) : null;
}

export const expiresInFlag = flag('--expires-in <duration>', 'the new expiry, from now', duration(1));

const edit = defineCommand({
  path: 'dead edit',
  summary: 'change the payload of a dead letter and run it again',
  about:
    'The signature of the old text must verify with the keys of this app. The new payload is checked against the schema of the job and signed again. The job keeps its id, and its attempts count from 1. A member that reads [masked], as `longshore dead show` prints it, keeps its old value.',
  args: idArgs,
  flags: {
    payload: payloadFlag,
    expiresIn: expiresInFlag,
    dryRun: flag('--dry-run', 'check it, and change nothing'),
  },
  examples: [
    `longshore dead edit 0199a1b2-c3d4-7e5f --payload '{"invoiceId":"1042"}'`,
    'longshore dead edit 0199a1b2-c3d4-7e5f --payload @mended.json --dry-run',
  ],
  exits: {
    1: 'failed, or the letter cannot be signed again here; the message says why',
    2: 'the command line or the payload is wrong, and nothing was done',
    3: 'no such dead letter',
  },
  async run(input) {
    const { args, flags, session } = input;
    if (flags.payload === undefined)
      throw usage('Expected --payload with the new payload: JSON, @ and the name of a file, or -.');
    const payload = await payloadOf(input, flags.payload);
    await checkDead(session);
    const [wanted = ''] = await deadIds(session, args);
    const { deadLetters } = await session.operator();
    const { expiresIn, dryRun = false } = flags;
    await deadLetters.edit(wanted, { payload, dryRun, ...given({ expiresInMs: expiresIn }) });
    const done = `${wanted} has its new payload, and is ready to run.`;
    return {
      data: { id: wanted, dryRun },
      text: dryRun ? `${wanted} can be edited. Nothing was changed.` : done,
    };
  },
});

export const deadCommands: readonly Command[] = [list, groups, show, edit];
