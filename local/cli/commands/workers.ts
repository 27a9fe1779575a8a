import type { WorkerBeat } from '../../../core/contract/store.ts';
import { duration } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { type Column, megabytes, span } from '../output/ui.ts';

const columnsAt = (now: number): readonly Column<WorkerBeat>[] => [
  { title: 'id', value: (row) => row.id },
  { title: 'host', value: (row) => row.host },
  { title: 'pid', align: 'right', value: (row) => String(row.pid) },
  { title: 'running', align: 'right', value: (row) => `${row.running}/${row.concurrency}` },
  { title: 'done', align: 'right', value: (row) => String(row.counts.acked) },
  { title: 'memory', align: 'right', value: (row) => megabytes(row.memoryBytes) },
  { title: 'up', align: 'right', value: (row) => span(now - row.startedAt) },
  { title: 'seen', align: 'right', value: (row) => `${span(now - row.seenAt)} ago` },
  { title: 'queues', value: (row) => row.queues.join(', ') },
];

export const workers = defineCommand({
  path: 'workers',
  summary: 'list the workers that were seen lately',
  about: 'A worker writes a heartbeat every 5 seconds and takes itself off the list when it stops.',
  flags: {
    since: {
      flags: '--since <duration>',
      text: 'seen within this time',
      parse: duration(1),
      fallback: 60_000,
      fallbackText: '1m',
    },
  },
  examples: ['longshore workers', 'longshore workers --since 1d --json'],
  async run({ flags, session, ui, io }) {
    const { stores } = await session.client();
    const now = io.clock.now();
    const seen = await stores.workers.list(now - flags.since);
    return {
      data: { workers: seen },
      text:
        seen.length > 0 ? ui.table(seen, columnsAt(now)) : `No worker was seen within ${span(flags.since)}.`,
    };
  },
});
