import type { DeadLetterGroup, DeadLetterItem } from '../../../core/operations/types.ts';
import { queueFlag } from '../config/flags.ts';
import { integer } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { type Column, count, number, span, type Under } from '../output/ui.ts';
import { deadAdmin, filterFlags, filterOf, isNarrow, noneText } from './dead-filter.ts';
import { shortIds } from './job-ids.ts';
import { firstOf, pageFlags } from './pages.ts';

export const listDead = defineCommand({
  path: 'dead list',
  backends: 'each',
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
  exits: { 3: 'the queue that was asked for is not there' },
  async run({ flags, session, ui, io }) {
    const { queue, max, after } = flags;
    const admin = await deadAdmin(session, queue);
    const now = io.clock.now();
    const { deadLetters } = await session.operator();
    const filter = filterOf(flags, now);
    const pageOf = async (page: Parameters<typeof deadLetters.page>[1]) => {
      const { letters: found, next } = await deadLetters.page(filter, page);
      return { found, next };
    };
    const { found, next } = await firstOf(pageOf, max, after);
    if (found.length === 0) return { data: { deadLetters: [], next }, text: await noneText(flags, session) };
    const all = isNarrow(flags) || next === null ? null : await admin.stats(queue);
    const total = all?.reduce((sum, { dead }) => sum + dead, 0) ?? null;
    const shown = `${number(found.length)}${total === null ? '' : ` of ${number(total)}`}`;
    const footer = `${shown} dead letter${found.length === 1 ? '' : 's'}, newest first.`;
    const older = next === null ? '' : ` Older ones: the same with --after ${next}`;
    const columns = columnsAt(now, shortIds(found.map(({ id }) => id)));
    return {
      data: { deadLetters: found, next },
      text: `${ui.table(found, columns, errorUnder)}\n\n${footer}${older}`,
    };
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

export const groupDead = defineCommand({
  path: 'dead groups',
  backends: 'each',
  summary: 'group dead letters by what they died of',
  about:
    'Letters of one job with one reason are a group when their errors differ in numbers, ids, paths and quoted values only. The newest letters are looked at.',
  flags: {
    queue: queueFlag,
    ...filterFlags,
    look: {
      flags: '--look <n>',
      text: 'how many letters to look at, newest first',
      parse: integer(1, 1_000_000),
      fallback: 5_000,
    },
  },
  examples: ['longshore dead groups', 'longshore dead groups --job invoice.mail --newer-than 1d'],
  exits: { 3: 'the queue that was asked for is not there' },
  async run({ flags, session, ui, io }) {
    await deadAdmin(session, flags.queue);
    const now = io.clock.now();
    const { deadLetters } = await session.operator();
    const result = await deadLetters.groups(filterOf(flags, now), flags.look);
    const { groups, looked, complete } = result;
    if (groups.length === 0) return { data: { ...result }, text: await noneText(flags, session) };
    const letters = groups.reduce((sum, one) => sum + one.count, 0);
    const more = complete
      ? '.'
      : ` among the newest ${number(looked)}. There are older ones: look at more with --look`;
    const footer = `${count(groups.length, 'group')} of ${count(letters, 'dead letter')}${more}`;
    return {
      data: { ...result },
      text: `${ui.table(groups, groupColumns(now, complete), errorUnder)}\n\n${footer}`,
    };
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
