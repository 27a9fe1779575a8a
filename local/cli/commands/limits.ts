import { span } from '../../../core/base/span.ts';
import type { LimitView } from '../../../core/features/limits/views.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { actorOf } from '../config/actor.ts';
import { words } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';
import { type Command, defineCommand } from '../definition.ts';
import { notFound } from '../errors.ts';
import { canAsk, confirm, yesFlag } from '../output/ask.ts';
import { type Column, count, number, plain, type Under, when } from '../output/ui.ts';
import { failuresText, type OfBackend, ofEach, withBackend } from './each-backend.ts';
import { pageFlags } from './pages.ts';

const list = defineCommand({
  path: 'limits',
  summary: 'list the limits of jobs and queues, with who has a slot and who waits',
  about:
    'Those that the app declares, and those that somebody uses, holds or waits for, by their keys: job:<name>:concurrency, queue:<name>:rate, with :<key> behind it where each key counts for itself. What is paused or stopped by a breaker stands there too. With several backends those of all are listed.',
  args: [{ name: '[prefix]', text: 'how their keys begin, all without it', parse: words }],
  flags: pageFlags,
  examples: ['longshore limits', 'longshore limits job:shop.sync:', 'longshore limits --json'],
  async run({ args, flags, session, ui, io }) {
    const { createOperator } = await import('../../../core/operations/operator.ts');
    const clients = (await session.keylessClients()).filter(keepsLimits);
    const several = clients.length > 1;
    const filter = given({ ...flags, prefix: args[0] });
    const more: string[] = [];
    let next: string | null = null;
    const { rows: limits, failures } = await ofEach(clients, async (client) => {
      const page = await createOperator(client, actorOf(io.env)).limits.list(filter);
      if (page.next === null) return page.limits;
      next = page.next;
      more.push(`${several ? `--backend ${client.name} ` : ''}--after ${shellWord(page.next)}`);
      return page.limits;
    });
    const end = more.length === 0 ? '.' : `, and there are more: the same with ${more.join(', or with ')}`;
    return {
      data: several
        ? { limits, hasMore: more.length > 0, ...(failures.length > 0 && { failures }) }
        : { limits, next },
      text: [
        limits.length > 0
          ? `${ui.table(limits, withBackend(columnsAt(io.clock.now()), several), under)}\n\n${count(limits.length, 'limit')}${end}`
          : failures.length > 0
            ? ''
            : 'No job and no queue has a limit like this.',
        failuresText(failures, ui),
      ]
        .filter(Boolean)
        .join('\n\n'),
      exit: failures.length > 0 ? 1 : 0,
    };
  },
});

/** Of several those that keep some; a single one says that it keeps none. */
const keepsLimits = ({ stores }: Client, _: number, all: readonly Client[]): boolean =>
  all.length === 1 || stores.limits !== undefined;

const columnsAt = (now: number): readonly Column<LimitView & OfBackend>[] => [
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

/** A key may have any characters. With those that a terminal would obey it is only in JSON. */
const shellWord = (text: string): string => `'${plain(text).replaceAll("'", `'\\''`)}'`;

const isFull = ({ limit, used }: LimitView): boolean => limit !== null && used >= limit;

function usedText({ limit, used, perMs }: LimitView): string {
  const slots = limit === null ? number(used) : `${number(used)}/${number(limit)}`;
  return perMs === null ? slots : `${slots} in ${span(perMs)}`;
}

/** Who has a slot. Of a rate that is over for most of them. */
const under: Under<LimitView> = {
  text: ({ kind, holders, used }) => {
    if (kind !== 'concurrency' || used === 0) return null;
    const more = used > holders.length ? ` and ${number(used - holders.length)} more` : '';
    return `${holders.map(({ id }) => id).join(', ')}${more}`;
  },
  style: () => 'dim',
};

const reset = defineCommand({
  path: 'limits reset',
  backends: 'first',
  summary: 'free the slots of a limit, end its hold and wake the jobs that wait for it',
  about:
    'Jobs that have a slot go on, so that for a while more of them run than the limit says. Slots of workers that died end by themselves with their leases.',
  args: [{ name: '<key>', text: 'key of a limit, whole, as `longshore limits` lists it', parse: words }],
  flags: { yes: yesFlag },
  examples: ['longshore limits reset job:shop.sync:concurrency:c-7 --yes'],
  exits: {
    1: 'failed, or not confirmed',
    2: 'the command line is wrong or --yes is missing, and nothing was done',
    3: 'nobody uses, holds or waits for it',
  },
  async run(input) {
    const { args, flags, session, io } = input;
    canAsk(input, flags.yes, 'free the slots of a limit');
    const key = args[0] ?? '';
    const { limits } = await session.operator();
    const found = (await limits.list({ prefix: key, max: 1 })).limits.find((one) => one.key === key);
    if (!found || (found.used === 0 && found.heldUntil === null && found.waiting === 0))
      throw notFound(`Nobody uses, holds or waits for a limit "${key}". See \`longshore limits\`.`);
    await confirm(input, flags.yes, `${stateText(found, io.clock.now())} Free it?`);
    await limits.reset(key);
    return { data: { key, reset: true }, text: `${plain(key)} is free.` };
  },
});

function stateText({ key, used, heldUntil, waiting }: LimitView, now: number): string {
  const held =
    heldUntil === null
      ? []
      : [heldUntil === 'reset' ? 'held' : `held until ${when(Math.max(now, heldUntil))}`];
  const parts = [`${count(used, 'slot')} in use`, ...held, `${count(waiting, 'job')} waiting`];
  return `${plain(key)}: ${parts.join(', ')}.`;
}

export const limitsCommands: readonly Command[] = [list, reset];
