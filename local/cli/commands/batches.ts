import { span } from '../../../core/base/duration.ts';
import { childStates } from '../../../core/features/batches/roles.ts';
import type { BatchChild, BatchDetail } from '../../../core/features/batches/show.ts';
import type { Batch } from '../../../core/kernel/app/batch.ts';
import { flag, maxFlag } from '../config/flags.ts';
import { given, integer, oneOf, words } from '../config/values.ts';
import { type Command, defineCommand, someAway } from '../definition.ts';
import { notFound } from '../errors.ts';
import { type Column, number, plain, when } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { change } from './change.ts';
import { listed } from './perform.ts';
import { backendColumn } from './running-jobs.ts';
import { pageFlags } from './select-jobs.ts';

const idArgument = { name: '<id>', text: 'whole id of a batch', parse: words };

const list = defineCommand({
  path: 'batches',
  summary: 'list batches, newest first, with their progress',
  about:
    'Lists running batches, and those that ended in the last days. The callbacks of a batch are separate jobs.',
  args: [],
  flags: pageFlags,
  examples: ['longshore batches', 'longshore batches --max 100 --json'],
  exits: { 1: someAway },
  async run(input) {
    const { flags, session, ui } = input;
    const operator = await session.operator();
    const page = await operator.batches.list(given(flags));
    const { batches: found, next } = page;
    const more = next === null ? '.' : `. There may be older ones: the same with --after ${next}`;
    const shown = found.length === 1 ? '1 batch' : `${number(found.length)} batches`;
    const text =
      found.length > 0
        ? `${ui.table(found, [...backendColumn(found), ...columns])}\n\n${shown}${more}`
        : 'There are no batches.';
    return listed(input, { ...page }, text);
  },
});

const columns: readonly Column<Batch>[] = [
  {
    title: 'state',
    value: stateText,
    style: ({ state, outcome }) => (state === 'cancelled' ? 'dim' : outcome === 'failed' ? 'red' : null),
  },
  { title: 'done', align: 'right', value: ({ percent }) => (percent === null ? '' : `${percent} %`) },
  { title: 'children', align: 'right', value: ({ sent }) => number(sent) },
  {
    title: 'failed',
    align: 'right',
    value: ({ failed }) => number(failed),
    style: ({ failed }) => (failed > 0 ? 'red' : null),
  },
  { title: 'left', align: 'right', value: leftText },
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => plain(name) },
];

/** The outcome of an ended batch, otherwise its state. */
function stateText({ state, outcome }: Batch): string {
  return outcome ?? state;
}

function leftText({ state, etaMs }: Batch): string {
  return state === 'running' && etaMs !== null ? span(etaMs) : '';
}

const show = defineCommand({
  path: 'batches show',
  summary: 'show the progress of a batch',
  about:
    'Shows the callbacks too, and whether they were called. The rate is the average since the batch was created.',
  args: [idArgument],
  flags: {},
  examples: ['longshore batches show orders-2026-11'],
  exits: { 1: 'failed', 2: 'the command line is wrong', 3: 'no such batch' },
  async run({ args, session }) {
    const { batches } = await session.operator();
    const id = args[0] ?? '';
    const batch = await batches.show(id);
    if (!batch) throw noBatch(id);
    return { data: { ...batch }, text: linesOf(batch).join('\n') };
  },
});

function linesOf(batch: BatchDetail): string[] {
  const { id, name, tenantId, sent, total, succeeded, failed, percent, perSecond } = batch;
  const done = percent === null ? '' : `, ${percent} % done`;
  const rate = perSecond === null ? '' : `, ${number(perSecond)} per second`;
  const left = leftText(batch);
  return [
    `id         ${id}`,
    `name       ${plain(name)}`,
    ...(tenantId === null ? [] : [`tenant     ${plain(tenantId)}`]),
    `state      ${stateText(batch)}${done}${rate}${left === '' ? '' : `, ${left} left`}`,
    `children   ${number(sent)} sent${total === null ? ' so far' : ''}: ${number(succeeded)} succeeded, ${number(failed)} failed`,
    `made       ${when(batch.createdAt)}`,
    ...(batch.completedAt === null ? [] : [`complete   ${when(batch.completedAt)}`]),
    ...(batch.round === 1 ? [] : [`round      ${batch.round}`]),
    ...batch.calls.map(callLine),
    ...(batch.refused === null ? [] : [`refused    ${plain(batch.refused)}`]),
  ];
}

const callLine = ({ end, job, id, state }: BatchDetail['calls'][number]): string =>
  `${end.padEnd(10)} ${plain(job)}: ${state}${state === 'called' ? `, job ${id}` : ''}`;

const children = defineCommand({
  path: 'batches children',
  summary: 'list the children of a batch by number, with their errors',
  about: 'The state is the status of the job. Without a record it is the result that the batch has counted.',
  args: [idArgument],
  flags: {
    state: flag('--state <state>', `only ${childStates.join(', ')}`, oneOf(childStates)),
    max: { ...maxFlag, parse: integer(1, 500), text: 'at most this many, up to 500' },
    after: flag('--after <next>', 'the next page, with the `next` of this one', words),
  },
  examples: [
    'longshore batches children orders-2026-11 --state failed',
    'longshore batches children orders-2026-11 --max 500 --json',
  ],
  exits: { 1: 'failed', 2: 'the command line is wrong', 3: 'no such batch' },
  async run({ args: [id = ''], flags, session, ui }) {
    const { batches } = await session.operator();
    const page = await batches.children(id, given(flags));
    if (page.children.length === 0) return { data: { ...page }, text: 'There are no such children.' };
    const more = page.next === null ? '' : `\n\nThere are more: --after ${page.next}`;
    return { data: { ...page }, text: ui.table(page.children, childColumns) + more };
  },
});

const childColumns: readonly Column<BatchChild>[] = [
  { title: 'child', align: 'right', value: (row) => number(row.number) },
  {
    title: 'state',
    value: ({ end, record }) => record?.status ?? end,
    style: ({ end }) => (end === 'failed' ? 'red' : null),
  },
  { title: 'runs', align: 'right', value: ({ record }) => (record ? number(record.runs) : '') },
  { title: 'id', value: ({ id }) => id },
  { title: 'error', value: ({ record }) => (record ? plain(record.error ?? '') : 'no record is kept') },
];

const noBatch = (id: string) => notFound(`There is no batch "${plain(id)}". See \`longshore batches\`.`);

async function batchIn(session: Session, target: string) {
  const { batches } = await session.operator();
  const found = await batches.get(target);
  if (found) return { target, found };
  throw noBatch(target);
}

const cancel = change('batches.cancel', {
  path: 'batches cancel',
  about:
    'Running children are aborted. The batch accepts no more children. Then its onFailure and onComplete run.',
  example: 'orders-2026-11',
  arg: idArgument,
  find: batchIn,
  question({ sent, succeeded, failed }, id) {
    const many = sent - succeeded - failed;
    return { many, text: `${number(many)} children of batch ${id} have not ended. Cancel them?` };
  },
  data: (id, cancelled) => ({ id, cancelled }),
});

const retry = change('batches.retryFailed', {
  path: 'batches retry',
  about:
    'Cancelled, expired and discarded children stay failed. When all children have ended again, the callbacks run again.',
  example: 'orders-2026-11',
  arg: idArgument,
  find: batchIn,
  question: ({ failed: many }, id) => ({
    many,
    text: `${number(many)} children of batch ${id} have failed. Retry them?`,
  }),
  data: (id, retried) => ({ id, retried }),
});

export const batchesCommands: readonly Command[] = [list, show, children, cancel, retry];
