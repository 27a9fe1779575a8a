import type { QueueStats } from '../../../core/contract/admin.ts';
import { duration, name } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { usage } from '../errors.ts';
import { type Column, span } from '../output/ui.ts';

const columns: readonly Column<QueueStats>[] = [
  { title: 'queue', value: (row) => row.queue },
  { title: 'ready', align: 'right', value: (row) => String(row.ready) },
  { title: 'delayed', align: 'right', value: (row) => String(row.delayed) },
  { title: 'running', align: 'right', value: (row) => String(row.leased) },
  {
    title: 'dead',
    align: 'right',
    value: (row) => String(row.dead),
    style: (row) => (row.dead > 0 ? 'red' : null),
  },
  {
    title: 'oldest ready',
    align: 'right',
    value: (row) => (row.oldestReadyMs === null ? '-' : span(row.oldestReadyMs)),
  },
  { title: '', value: (row) => (row.paused ? 'paused' : ''), style: () => 'yellow' },
];

export const status = defineCommand({
  path: 'status',
  summary: 'show every queue with its counts',
  about:
    'Lists every queue that a job of the app names, used or not. `oldest ready` shows how late the workers are. With --watch it looks again and again until q or Ctrl-C: with rates per minute and the wait of 95 % of the jobs (p95) where numbers are kept, else with the change of `ready`. Without a terminal it prints a line for each queue, and with --json an object for each look.',
  args: [{ name: '[queues...]', text: 'only these', parse: name }],
  flags: {
    watch: { flags: '--watch', text: 'go on looking' },
    every: { flags: '--every <duration>', text: 'how often to look with --watch (2s)', parse: duration(200) },
  },
  examples: [
    'longshore status',
    'longshore status --watch',
    "longshore status mail --json | jq '.queues[0].ready'",
  ],
  exits: { 0: 'done; with --watch ended by q or a signal', 3: 'a queue that was asked for is not there' },
  async run(input) {
    const { args, flags, session, ui } = input;
    if (flags.every !== undefined && !flags.watch) throw usage('Expected --watch beside --every, got none.');
    const admin = await session.admin('tell the state of its queues');
    const names = await session.queues(args);
    if (flags.watch) {
      const { watchStatus } = await import('./status-watch.ts');
      return watchStatus(input, names, flags.every ?? 2_000);
    }
    const queues = (await Promise.all(names.map((queue) => admin.stats(queue)))).flat();
    const { backend } = await session.client();
    return {
      data: { backend: backend.name, queues },
      text: queues.length > 0 ? ui.table(queues, columns) : 'The app has no jobs, and no queue was used yet.',
    };
  },
});
