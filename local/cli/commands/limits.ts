import { span } from '../../../core/base/duration.ts';
import type { LimitView } from '../../../core/features/limits/views.ts';
import { given, words } from '../config/values.ts';
import { type Command, defineCommand, someAway } from '../definition.ts';
import { type Column, count, number, plain, type Under, when } from '../output/ui.ts';
import { change } from './change.ts';
import { listed, notFoundIn } from './perform.ts';
import { backendColumn } from './running-jobs.ts';
import { pageFlags } from './select-jobs.ts';

const list = defineCommand({
  path: 'limits',
  summary: 'list the limits of jobs and queues, with their slots and waiting jobs',
  about:
    'Lists the limits that the app declares, and those that are in use, on hold or waited for, by their keys: job:<name>:concurrency, queue:<name>:rate, followed by :<key> if each key has its own limit. Paused jobs and open breakers are listed too.',
  args: [{ name: '[prefix]', text: 'prefix of their keys; all by default', parse: words }],
  flags: pageFlags,
  examples: ['longshore limits', 'longshore limits job:shop.sync:', 'longshore limits --json'],
  exits: { 1: someAway },
  async run(input) {
    const { args, flags, session, ui, io } = input;
    const operator = await session.operator();
    const page = await operator.limits.list(given({ ...flags, prefix: args[0] }));
    const { limits, next } = page;
    const more = next === null ? '.' : `, and there are more: the same with --after ${shellWord(next)}`;
    const columns = [...backendColumn(limits), ...columnsAt(io.clock.now())];
    const text =
      limits.length > 0
        ? `${ui.table(limits, columns, under)}\n\n${count(limits.length, 'limit')}${more}`
        : 'No job and no queue has a limit like this.';
    return listed(input, { ...page }, text);
  },
});

const columnsAt = (now: number): readonly Column<LimitView>[] => [
  { title: 'in use', align: 'right', value: usedText, style: (row) => (isFull(row) ? 'yellow' : null) },
  { title: 'waiting', align: 'right', value: ({ waiting }) => number(waiting) },
  {
    title: 'held',
    value: ({ heldUntil }) =>
      heldUntil === null ? '' : heldUntil === 'reset' ? 'until a reset' : `for ${span(heldUntil - now)}`,
    style: () => 'yellow',
  },
  {
    title: 'limit',
    value: ({ key, keyPart, perKey }) => (perKey && keyPart === null ? `${key}:<key>` : key),
  },
];

/** Quotes a key for the shell. Control characters are only in the JSON output. */
const shellWord = (text: string): string => `'${plain(text).replaceAll("'", `'\\''`)}'`;

const isFull = ({ limit, used }: LimitView): boolean => limit !== null && used >= limit;

function usedText({ limit, used, perMs }: LimitView): string {
  const slots = limit === null ? number(used) : `${number(used)}/${number(limit)}`;
  return perMs === null ? slots : `${slots} in ${span(perMs)}`;
}

/** Under a row: the jobs that hold a slot. Not for a rate, where most of them have ended. */
const under: Under<LimitView> = {
  text: ({ kind, holders, used }) => {
    if (kind !== 'concurrency' || used === 0) return null;
    const more = used > holders.length ? ` and ${number(used - holders.length)} more` : '';
    return `${holders.map(({ id }) => id).join(', ')}${more}`;
  },
  style: () => 'dim',
};

const reset = change('limits.reset', {
  path: 'limits reset',
  about:
    'Running jobs are not stopped, so more jobs than the limit may run for a while. You need not reset slots of dead workers: they are freed when the lease ends.',
  example: 'job:shop.sync:concurrency:c-7',
  arg: { name: '<key>', text: 'whole key of a limit, as `longshore limits` lists it', parse: words },
  exits: { 3: 'the limit is not in use' },
  async find(session, target) {
    const { limits } = await session.operator();
    const page = await limits.list({ prefix: target, max: 1 });
    const found = page.limits.filter(
      ({ key, used, heldUntil, waiting }) =>
        key === target && (used > 0 || heldUntil !== null || waiting > 0),
    );
    if (found.length > 0) return { target, found };
    throw notFoundIn(page, `Limit "${target}" is not in use. See \`longshore limits\`.`);
  },
  question: (found) => ({ many: 1, text: `${found.map(stateText).join(' ')} Free it?` }),
  data: (key) => ({ key, reset: true }),
});

function stateText({ backend, key, used, heldUntil, waiting }: LimitView): string {
  const held = heldUntil === null ? [] : [heldUntil === 'reset' ? 'held' : `held until ${when(heldUntil)}`];
  const parts = [`${count(used, 'slot')} in use`, ...held, `${count(waiting, 'job')} waiting`];
  const where = backend === undefined ? '' : `${backend}: `;
  return `${where}${plain(key)}: ${parts.join(', ')}.`;
}

export const limitsCommands: readonly Command[] = [list, reset];
