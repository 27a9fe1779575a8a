import type { QueueStats } from '../../../core/contract/admin.ts';
import { stoppedJobs } from '../../../core/limits/stopped.ts';
import { watchEveryMs, watchFlags } from '../config/flags.ts';
import { name, oneOf } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { lateness } from '../output/late.ts';
import { type Column, number, span } from '../output/ui.ts';
import { watchQueues } from './queue-picture.ts';
import { stoppedText } from './stop-jobs.ts';

const orders = ['ready', 'delayed', 'running', 'dead', 'oldest'] as const;
const order = oneOf(orders);
const values: Readonly<Record<(typeof orders)[number], (row: QueueStats) => number>> = {
  ready: (row) => row.ready,
  delayed: (row) => row.delayed,
  running: (row) => row.leased,
  dead: (row) => row.dead,
  oldest: (row) => row.oldestReadyMs ?? -1,
};
const sorted = (rows: readonly QueueStats[], by: keyof typeof values): QueueStats[] =>
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

export const status = defineCommand({
  path: 'status',
  summary: 'show every queue with its counts',
  about:
    'Lists every queue that a job of the app names, used or not. `oldest ready` shows how late the workers are. Jobs that are paused or stopped by their breaker are listed below. With --watch it is `longshore top`.',
  args: [{ name: '[queues...]', text: 'only these', parse: name }],
  flags: {
    ...watchFlags,
    sort: {
      flags: '--sort <column>',
      text: `most first by ${orders.join(', ')}; by default as the app has them`,
      parse: order,
    },
  },
  examples: [
    'longshore status',
    'longshore status --watch',
    "longshore status mail --json | jq '.queues[0].ready'",
  ],
  exits: { 0: 'done; with --watch ended by q or a signal', 3: 'a queue that was asked for is not there' },
  async run(input) {
    const { args, flags, session, ui } = input;
    const everyMs = watchEveryMs(flags);
    const admin = await session.admin('tell the state of its queues');
    const names = await session.queues(args);
    if (everyMs !== null) return watchQueues(input, names, everyMs);
    const found = (await Promise.all(names.map((queue) => admin.stats(queue)))).flat();
    const queues = flags.sort === undefined ? found : sorted(found, flags.sort);
    const client = await session.client();
    const stopped = await stoppedJobs(client);
    return {
      data: { backend: client.backend.name, queues, stopped },
      text:
        queues.length > 0
          ? ui.table(queues, columns) + stoppedText(ui, stopped)
          : 'The app has no jobs, and no queue was used yet.',
    };
  },
});
