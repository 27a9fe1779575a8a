import type { QueueStats } from '../../../core/contract/admin.ts';
import type { StoppedJob } from '../../../core/kernel/app/breaker.ts';
import { defaultEveryMs, flag, watchEveryMs, watchFlags } from '../config/flags.ts';
import { duration, oneOf } from '../config/values.ts';
import { type Command, defineCommand, someAway } from '../definition.ts';
import { type Column, lateness, number, span, when } from '../output/ui.ts';
import { listed } from './perform.ts';
import { queueArgs, watchQueues } from './queue-picture.ts';
import { backendColumn } from './running-jobs.ts';
import { chosenQueues } from './select-jobs.ts';

const orders = ['ready', 'delayed', 'running', 'dead', 'oldest'] as const;
const order = oneOf(orders);
const values: Readonly<Record<(typeof orders)[number], (row: QueueStats) => number>> = {
  ready: (row) => row.ready,
  delayed: (row) => row.delayed,
  running: (row) => row.leased,
  dead: (row) => row.dead,
  oldest: (row) => row.oldestReadyMs ?? -1,
};
const sorted = <Row extends QueueStats>(rows: readonly Row[], by: keyof typeof values): Row[] =>
  rows.toSorted((a, b) => values[by](b) - values[by](a));

const columns: readonly Column<QueueStats>[] = [
  { title: 'queue', value: (row) => row.queue },
  { title: 'ready', align: 'right', value: (row) => number(row.ready) },
  { title: 'delayed', align: 'right', value: (row) => number(row.delayed) },
  { title: 'running', align: 'right', value: (row) => number(row.leased) },
  {
    title: 'dead',
    align: 'right',
    value: (row) => number(row.dead),
    style: (row) => (row.dead > 0 ? 'red' : null),
  },
  {
    title: 'oldest ready',
    align: 'right',
    value: (row) => (row.oldestReadyMs === null ? '-' : span(row.oldestReadyMs)),
    style: (row) => lateness(row.oldestReadyMs),
  },
  { title: '', value: (row) => (row.paused ? 'paused' : ''), style: () => 'yellow' },
];

const status = defineCommand({
  path: 'status',
  summary: 'show every queue with its counts',
  about:
    'Lists every queue of the app, used or not. `oldest ready` shows how late the workers are. Paused jobs and jobs with an open breaker are listed below. With several backends it skips those without administration, and reports those that do not answer. --watch is the same as `longshore top`.',
  args: queueArgs,
  flags: {
    ...watchFlags,
    sort: flag(
      '--sort <column>',
      `highest first, by ${orders.join(', ')}; by default in the order of the app`,
      order,
    ),
  },
  examples: [
    'longshore status',
    'longshore status --watch',
    "longshore status mail --json | jq '.queues[0].ready'",
  ],
  exits: {
    0: 'done; with --watch ended by q or a signal',
    1: someAway,
    3: 'a queue that was asked for is not there',
  },
  async run(input) {
    const { args, flags, session, ui } = input;
    const everyMs = watchEveryMs(flags);
    if (everyMs !== null) return watchQueues(input, everyMs);
    await session.admin('tell the state of its queues');
    const { queues: found, ...missed } = await chosenQueues(session, args);
    const queues = flags.sort === undefined ? found : sorted(found, flags.sort);
    const { jobs } = await session.operator();
    const { stopped } = await jobs.stopped();
    const parts = [
      queues.length > 0
        ? ui.table(queues, [...backendColumn(queues), ...columns])
        : 'The app has no jobs, and no queue was used yet.',
      stopped.length > 0 ? ui.table(stopped, [...backendColumn(stopped), ...stoppedColumns]) : '',
    ];
    const backends = await session.several();
    const whose = backends.length > 0 ? { backends } : { backend: (await session.backend()).name };
    const text = parts.filter((part) => part !== '').join('\n\n');
    return listed(input, { ...whose, queues, stopped, ...missed }, text);
  },
});

const stoppedColumns: readonly Column<StoppedJob>[] = [
  { title: 'job', value: (row) => row.job },
  { title: 'state', value: stateOf, style: () => 'yellow' },
  { title: 'waiting', align: 'right', value: (row) => number(row.waiting) },
];

function stateOf({ state, until, failures }: StoppedJob): string {
  if (state === 'paused') return 'paused';
  const failed = `breaker open, ${number(failures)} failed in a row`;
  return state === 'open' && until !== null
    ? `${failed}, until ${when(until)}`
    : `${failed}, one is being tried`;
}

const top = defineCommand({
  path: 'top',
  summary: 'watch queues, their rates and running jobs, live',
  about:
    'The same as `longshore status --watch`. Rates are per minute, and p95 is the 95th percentile of the waiting time. Without metrics it shows the change of `ready` instead. It shows up to 20 running jobs per worker, and none of functions. Arrows and page keys scroll, s sorts by name, oldest, ready, done or failed, q ends. Without a terminal it prints a line per queue, and with --json an object, at each interval.',
  args: queueArgs,
  flags: {
    every: {
      flags: '--every <duration>',
      text: 'how often to refresh',
      parse: duration(200),
      fallback: defaultEveryMs,
      fallbackText: '2s',
    },
  },
  examples: ['longshore top', 'longshore top mail pdf --every 5s'],
  exits: { 0: 'ended by q or a signal', 3: 'a queue that was asked for is not there' },
  run: (input) => watchQueues(input, input.flags.every),
});

export const statusCommands: readonly Command[] = [status, top];
