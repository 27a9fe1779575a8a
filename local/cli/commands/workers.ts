import { hint } from '../../../core/base/nearest.ts';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { forgetWorkerMs, type WorkerHealth } from '../../../core/kit/worker-state.ts';
import { flag } from '../config/flags.ts';
import { duration, oneOf, words } from '../config/values.ts';
import { type Command, defineCommand, someAway } from '../definition.ts';
import { usage } from '../errors.ts';
import { type Column, count, megabytes, number, type Style, span } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { change } from './change.ts';
import { listed, notFoundIn } from './perform.ts';
import { backendColumn, listedTable, nameOf, runningAt } from './running-jobs.ts';

const states: Readonly<Record<WorkerHealth, Style>> = { healthy: 'green', unhealthy: 'yellow', gone: 'red' };

interface Row extends WorkerBeat {
  readonly backend?: string;
  readonly state: WorkerHealth;
}

const stateText = ({ state, draining }: Row): string =>
  draining && state === 'healthy' ? 'draining' : state;

const columnsAt = (now: number): readonly Column<Row>[] => [
  { title: 'worker', value: nameOf },
  { title: 'state', value: stateText, style: (row) => (row.draining ? 'yellow' : states[row.state]) },
  { title: 'running', align: 'right', value: (row) => `${row.running}/${row.concurrency}` },
  { title: 'done', align: 'right', value: (row) => number(row.counts.acked) },
  { title: 'failed', align: 'right', value: (row) => (row.failed === undefined ? '?' : number(row.failed)) },
  { title: 'memory', align: 'right', value: (row) => megabytes(row.memoryBytes) },
  { title: 'up', align: 'right', value: (row) => span(now - row.startedAt), least: 90 },
  { title: 'seen', align: 'right', value: (row) => `${span(now - row.seenAt)} ago` },
  { title: 'queues', value: (row) => row.queues.join(', ') },
];

const orders = ['running', 'done', 'failed', 'memory', 'seen'] as const;
const order = oneOf(orders);
const values: Readonly<Record<(typeof orders)[number], (row: WorkerBeat) => number>> = {
  running: (row) => row.running,
  done: (row) => row.counts.acked,
  failed: (row) => row.failed ?? -1,
  memory: (row) => row.memoryBytes,
  seen: (row) => row.seenAt,
};

const list = defineCommand({
  path: 'workers',
  watched: true,
  summary: 'list the workers with their running jobs',
  about: `A worker writes a heartbeat when it starts and every 5 seconds, and removes itself when it stops. It is healthy if its last heartbeat is at most 15 seconds old, unhealthy up to a minute, and gone after that; after 5 minutes it is removed. It is draining while it stops and takes no more jobs. A heartbeat lists up to 20 running jobs, longest first: id, job and startedAt. Functions on Lambda and Azure write no heartbeats.`,
  flags: {
    since: {
      flags: '--since <duration>',
      text: 'seen within this time',
      parse: duration(1),
      fallback: forgetWorkerMs,
      fallbackText: '5m',
    },
    sort: flag('--sort <column>', `highest first, by ${orders.join(', ')}; by default oldest first`, order),
  },
  examples: [
    'longshore workers',
    'longshore workers --json | jq \'.workers[] | select(.state != "healthy")\'',
  ],
  exits: { 1: someAway },
  async run(input) {
    const { flags, session, ui, io } = input;
    const operator = await session.operator();
    const { workers: all, ...missed } = await operator.workers.list();
    const now = io.clock.now();
    const found = all.filter(({ seenAt }) => seenAt >= now - flags.since);
    const by = flags.sort && values[flags.sort];
    const rows = by ? found.toSorted((a, b) => by(b) - by(a)) : found;
    const totals = totalsOf(rows);
    const data = { workers: rows, totals, ...missed };
    if (rows.length === 0) return listed(input, data, `No worker was seen within ${span(flags.since)}.`);
    const running = runningAt(rows, now);
    const parts = [
      ui.table(rows, [...backendColumn(rows), ...columnsAt(now)]),
      ...(running.length > 0 ? [listedTable(running, ui, now)] : []),
      totalText(totals),
    ];
    return listed(input, data, parts.join('\n\n'));
  },
});

type Totals = ReturnType<typeof totalsOf>;

/** Slots and memory of healthy workers only: the jobs of the others may run elsewhere by now. */
function totalsOf(rows: readonly Row[]) {
  const sum = (value: (row: Row) => number) => rows.reduce((all, row) => all + value(row), 0);
  const of = (state: WorkerHealth) => sum((row) => (row.state === state ? 1 : 0));
  const healthy = (value: (row: Row) => number) => sum((row) => (row.state === 'healthy' ? value(row) : 0));
  return {
    healthy: of('healthy'),
    unhealthy: of('unhealthy'),
    gone: of('gone'),
    running: healthy((row) => row.running),
    concurrency: healthy((row) => row.concurrency),
    done: sum((row) => row.counts.acked),
    failed: sum((row) => row.failed ?? 0),
    memoryBytes: healthy((row) => row.memoryBytes),
  };
}

function totalText({
  healthy,
  unhealthy,
  gone,
  running,
  concurrency,
  done,
  failed,
  memoryBytes,
}: Totals): string {
  const states = [
    `${count(healthy + unhealthy + gone, 'worker')}: ${healthy} healthy`,
    ...(unhealthy > 0 ? [`${unhealthy} unhealthy`] : []),
    ...(gone > 0 ? [`${gone} gone`] : []),
  ];
  return `${states.join(', ')}. ${number(running)} of ${number(concurrency)} slots busy, ${number(done)} done, ${number(failed)} failed, ${megabytes(memoryBytes)}.`;
}

const drain = change('workers.drain', {
  path: 'workers drain',
  about:
    'The worker sees the request at its next heartbeat, within 5 seconds. It finishes its jobs and stops, as after a signal. A process supervisor may start a new one.',
  example: 'app-1:4711',
  arg: { text: 'as `longshore workers` shows it, its id, or the first characters of its id', parse: words },
  async find(session, given) {
    const { id, name } = await workerOf(session, given);
    return { target: id, found: null, shown: name };
  },
  data: (worker) => ({ worker, draining: true }),
});

async function workerOf(session: Session, wanted: string) {
  const operator = await session.operator();
  const { workers, ...missed } = await operator.workers.list();
  const all = workers.map((beat) => ({ id: beat.id, name: nameOf(beat) }));
  const exact = all.filter(({ id, name }) => id === wanted || name === wanted);
  const found = exact.length > 0 ? exact : all.filter(({ id }) => id.startsWith(wanted));
  if (found.length > 1)
    throw usage(
      `Name "${wanted}" matches several workers: ${found.map(({ id }) => id).join(', ')}. Use an id.`,
    );
  if (found[0]) return found[0];
  const names = all.map(({ name }) => name);
  throw notFoundIn(missed, `There is no worker "${wanted}" here.${hint(wanted, names)}`);
}

export const workerCommands: readonly Command[] = [list, drain];
