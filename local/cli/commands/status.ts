import type { QueueStats } from '../../../core/contract/admin.ts';
import { stoppedJobs } from '../../../core/features/limits/stopped-jobs.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { watchEveryMs, watchFlags } from '../config/flags.ts';
import { name, oneOf } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { notFound } from '../errors.ts';
import { lateness } from '../output/lateness.ts';
import { type Column, number, span } from '../output/ui.ts';
import { failuresText, type OfBackend, ofEach, withBackend } from './each-backend.ts';
import { watchQueues } from './queue-picture.ts';
import { stoppedText } from './stop-jobs.ts';

/** `backend` where there are several. */
type Row = QueueStats & OfBackend;

const orders = ['ready', 'delayed', 'running', 'dead', 'oldest'] as const;
const order = oneOf(orders);
const values: Readonly<Record<(typeof orders)[number], (row: QueueStats) => number>> = {
  ready: (row) => row.ready,
  delayed: (row) => row.delayed,
  running: (row) => row.leased,
  dead: (row) => row.dead,
  oldest: (row) => row.oldestReadyMs ?? -1,
};
const sorted = (rows: readonly Row[], by: keyof typeof values): Row[] =>
  rows.toSorted((a, b) => values[by](b) - values[by](a));

const columns: readonly Column<Row>[] = [
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
    'Lists every queue that a job of the app names, used or not. `oldest ready` shows how late the workers are. Jobs that are paused or stopped by their breaker are listed below. With several backends those of all are listed; one that offers no administration is left out, and one that does not answer is named. With --watch it is `longshore top`, which shows one backend.',
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
  exits: {
    0: 'done; with --watch ended by q or a signal',
    1: 'failed, or one of several backends did not answer',
    3: 'a queue that was asked for is not there',
  },
  async run(input) {
    const { args, flags, session, ui } = input;
    const everyMs = watchEveryMs(flags);
    await session.admin('tell the state of its queues');
    const clients = await session.clients();
    const several = clients.length > 1;
    if (everyMs !== null || !several) {
      const names = await session.queues(args);
      if (everyMs !== null) return watchQueues(input, names, everyMs);
    }
    const { rows: found, failures } = await ofEach(clients, (client) => statsOf(client, args));
    const unknown =
      several && failures.length === 0 && args.find((name) => !found.some(({ queue }) => queue === name));
    if (unknown) throw notFound(`There is no queue "${unknown}" here.`);
    const queues = flags.sort === undefined ? found : sorted(found, flags.sort);
    const answering = clients.filter(({ name }) => !failures.some(({ backend }) => backend === name));
    const stopped = (await ofEach(answering, stoppedJobs)).rows;
    const names = clients.map(({ backend, name }) => (several ? name! : backend.name));
    return {
      data: {
        ...(several ? { backends: names } : { backend: names[0] }),
        queues,
        stopped,
        ...(failures.length > 0 && { failures }),
      },
      text: [
        queues.length > 0
          ? ui.table(queues, withBackend(columns, several)) + stoppedText(ui, stopped, several)
          : failures.length > 0
            ? ''
            : 'The app has no jobs, and no queue was used yet.',
        failuresText(failures, ui),
      ]
        .filter(Boolean)
        .join('\n\n'),
      exit: failures.length > 0 ? 1 : 0,
    };
  },
});

/** Of these queues, without any of all that it has. */
async function statsOf({ app, backend: { admin } }: Client, asked: readonly string[]): Promise<QueueStats[]> {
  if (!admin) return [];
  const used = (await admin.stats()).map(({ queue }) => queue);
  const known = [...new Set([...app.queues, ...used])];
  const names = asked.length > 0 ? [...new Set(asked)].filter((name) => known.includes(name)) : known;
  return (await Promise.all(names.map((queue) => admin.stats(queue)))).flat();
}
