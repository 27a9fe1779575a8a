/** The screen of `longshore top` and `longshore status --watch`: queues with their rates, and running jobs. */

import type { QueueStats } from '../../../core/contract/admin.ts';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { type QueueRates, queueRates, type Rates, totalRates } from '../../../core/features/metrics/rates.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { stepMs } from '../../../core/kit/records/metric-steps.ts';
import { goneAfterMs, workerTotals } from '../../../core/kit/worker-state.ts';
import { queuesOf } from '../../../core/operations/queues.ts';
import { administered } from '../../../core/operations/select.ts';
import { askEach, labelled, type OfSeveral } from '../../../core/routing/each.ts';
import { name } from '../config/values.ts';
import type { Input, Result } from '../definition.ts';
import { type Column, count, lateness, number, type Style, short, span, type Ui } from '../output/ui.ts';
import { awayText } from './perform.ts';
import { backendColumn, type Running, runningJobs, runningTable } from './running-jobs.ts';
import { chosenQueues } from './select-jobs.ts';
import { watch } from './watch.ts';

interface OfBackend {
  /** Set if there are several backends. */
  readonly backend?: string;
}

interface Row extends QueueStats, OfBackend {
  /** `null` if no metrics are kept. */
  readonly rates: QueueRates | null;
  /** Change of `ready` per minute; `null` at the first look. */
  readonly readyPerMinute: number | null;
}

interface Picture {
  readonly queues: readonly Row[];
  /** Rates of all queues; `null` = not known yet. */
  readonly rates: Rates | null;
  readonly running: readonly Running[];
}

/** One backend. */
interface Look extends Picture {
  readonly beats: readonly WorkerBeat[];
}

interface Whole extends Picture, OfBackend, OfSeveral {
  readonly at: number;
  readonly workers: ReturnType<typeof workerTotals>;
  readonly backends?: readonly string[];
}

export const queueArgs = [{ name: '[queues...]', text: 'only these queues', parse: name }];

const orders = ['name', 'oldest', 'ready', 'done', 'failed'] as const;
type Order = (typeof orders)[number];

export async function watchQueues(input: Input, everyMs: number): Promise<Result> {
  return watch(input, everyMs, {
    look: await looker(input),
    drawn: (picture, ui, order) => drawn(picture, ui, order as Order),
    text: linesOf,
    data: (picture) => picture,
    orders,
  });
}

/** Reads one backend, or several side by side. */
async function looker({ session, args, io }: Input): Promise<() => Promise<Whole>> {
  await session.admin('tell the state of its queues');
  if (args.length > 0) await chosenQueues(session, args);
  const client = await session.client();
  const looks = new Map(administered(client).map((one) => [one, lookerAt(one, args, io)]));
  const backends = await session.several();
  const whose = backends.length > 0 ? { backends } : { backend: client.backend.name };
  return async () => {
    const { answers, ...missed } = await askEach([...looks.keys()], (one) => looks.get(one)!());
    const named = <T extends object>(rows: (picture: Picture) => readonly T[]) =>
      answers.flatMap(({ client: one, answer }) => labelled(one, rows(answer)));
    const pictures = answers.map(({ answer }) => answer);
    const rates = pictures.flatMap((one) => one.rates ?? []);
    // Backends may share a store.
    const beats = new Map(pictures.flatMap((one) => one.beats).map((beat) => [beat.id, beat]));
    const at = io.clock.now();
    return {
      at,
      ...whose,
      queues: named(({ queues }) => queues),
      workers: workerTotals([...beats.values()], at),
      rates: rates.length > 0 ? totalRates(rates) : null,
      running: named(({ running }) => running).toSorted((a, b) => a.startedAt - b.startedAt),
      ...missed,
    };
  };
}

/** @param wanted only these queues; empty = all */
function lookerAt(client: Client, wanted: readonly string[], io: Input['io']): () => Promise<Look> {
  const rates = queueRates(client);
  const since = differences();
  return async () => {
    const now = io.clock.now();
    const all = await queuesOf(client);
    const stats = wanted.length > 0 ? all.filter(({ queue }) => wanted.includes(queue)) : all;
    const names = stats.map(({ queue }) => queue);
    const isAsked = wanted.length === 0 || names.length > 0;
    const beats = isAsked ? await client.stores.workers.list(now - goneAfterMs) : [];
    const known = await rates(names, client.app.clock.now());
    const { readyPerMinute, ofWorkers } = since(stats, beats, now);
    const running = await runningJobs(client, beats, names, now);
    return {
      beats,
      queues: stats.map((one) => ({
        ...one,
        rates: known?.get(one.queue) ?? null,
        readyPerMinute: readyPerMinute(one.queue),
      })),
      rates: known ? totalRates([...known.values()]) : ofWorkers,
      running,
    };
  };
}

const values: Readonly<Record<Exclude<Order, 'name'>, (row: Row) => number>> = {
  oldest: (row) => row.oldestReadyMs ?? -1,
  ready: (row) => row.ready,
  done: (row) => row.rates?.donePerMinute ?? -row.readyPerMinute!,
  failed: (row) => row.rates?.failedPerMinute ?? row.dead,
};

/** Highest value first. Equal rows, and the order `name`, keep the order of the app. */
function sorted(queues: readonly Row[], order: Order): readonly Row[] {
  if (order === 'name') return queues;
  const value = values[order];
  return queues.toSorted((a, b) => value(b) - value(a));
}

function drawn(picture: Whole, ui: Ui, order: Order) {
  const { at, backend = '', backends = [backend], queues, workers, rates, running, unavailable } = picture;
  const unhealthy = workers.unhealthy > 0 ? ui.paint('yellow', ` (${workers.unhealthy} unhealthy)`) : '';
  const slots = `, ${number(workers.running)} of ${number(workers.concurrency)} slots busy`;
  const all = count(workers.healthy + workers.unhealthy, 'worker');
  const tables = [ui.table(sorted(queues, order), tableColumns(queues, ui.columns ?? 80))];
  if (running.length > 0) tables.push(runningTable(running, ui, at));
  if (unavailable) tables.push(awayText(unavailable, ui));
  return {
    head: [`${backends.join(', ')}: ${all}${unhealthy}${slots}${rateText(rates)}`, ''],
    body: tables.join('\n\n'),
  };
}

const rateText = (rates: Rates | null): string =>
  rates === null
    ? ''
    : `; per minute ${short(rates.donePerMinute)} done, ${short(rates.failedPerMinute)} failed, ${short(rates.retriedPerMinute)} retried`;

function tableColumns(queues: readonly Row[], width: number): Column<Row>[] {
  const right = (title: string, value: (row: Row) => string, style?: Column<Row>['style']): Column<Row> => ({
    title,
    value,
    align: 'right',
    ...(style && { style }),
  });
  const rate = (title: string, of: keyof Rates, style?: Style) =>
    right(
      title,
      ({ rates }) => (rates ? short(rates[of]) : '-'),
      ({ rates }) => (style && rates && rates[of] > 0 ? style : null),
    );
  const hasRates = queues.some(({ rates }) => rates !== null);
  const numbers: Column<Row>[] = [
    right('ready', (row) => short(row.ready)),
    ...(width >= 92 || !hasRates ? [right('delayed', (row) => short(row.delayed))] : []),
    right('run', (row) => short(row.leased)),
    right(
      'dead',
      (row) => short(row.dead),
      (row) => (row.dead > 0 ? 'red' : null),
    ),
    right(
      'oldest',
      (row) => (row.oldestReadyMs === null ? '-' : span(row.oldestReadyMs)),
      (row) => lateness(row.oldestReadyMs),
    ),
    ...(hasRates
      ? [
          rate('done/m', 'donePerMinute'),
          rate('fail/m', 'failedPerMinute', 'red'),
          rate('retry/m', 'retriedPerMinute', 'yellow'),
          right(
            'p95',
            ({ rates }) => (rates?.waitP95Ms == null ? '-' : span(rates.waitP95Ms)),
            ({ rates }) => lateness(rates?.waitP95Ms),
          ),
        ]
      : [right('ready +/m', (row) => (row.readyPerMinute === null ? '-' : short(row.readyPerMinute)))]),
  ];
  const name = ({ queue, paused }: Row): string => (paused ? `⏸ ${queue}` : queue);
  const style = ({ paused }: Row): Style | null => (paused ? 'yellow' : null);
  return [...backendColumn(queues), { title: 'queue', value: name, style }, ...numbers];
}

/** One line per queue, for a file or a pipe. */
function linesOf({ at, queues }: Whole): string {
  const time = new Date(at).toISOString();
  return queues
    .map(({ backend, queue, ready, delayed, leased, dead, paused, oldestReadyMs, rates, readyPerMinute }) => {
      const facts = {
        ...(backend !== undefined && { backend }),
        ready,
        delayed,
        running: leased,
        dead,
        oldestMs: oldestReadyMs,
        ...(rates
          ? {
              'done/m': short(rates.donePerMinute),
              'failed/m': short(rates.failedPerMinute),
              'retried/m': short(rates.retriedPerMinute),
              waitP95Ms: rates.waitP95Ms && Math.round(rates.waitP95Ms),
            }
          : { 'ready/m': readyPerMinute && short(readyPerMinute) }),
        paused: paused || null,
      };
      const texts = Object.entries(facts).map(([name, value]) => (value === null ? '' : ` ${name}=${value}`));
      return `${time} ${queue}${texts.join('')}\n`;
    })
    .join('')
    .trimEnd();
}

const minuteMs = stepMs.minute;
const rounded = (value: number): number => Math.round(value * 10) / 10;

/** Without metrics, rates are computed from two snapshots. */
interface Snapshot {
  readonly at: number;
  readonly ready: ReadonlyMap<string, number>;
  readonly beats: ReadonlyMap<string, WorkerBeat>;
}

/** Keeps the snapshots of the last minute. */
function differences() {
  const looks: Snapshot[] = [];
  return (queues: readonly QueueStats[], workers: readonly WorkerBeat[], at: number) => {
    const ready = new Map(queues.map((one) => [one.queue, one.ready]));
    const beats = new Map(workers.map((beat) => [beat.id, beat]));
    looks.push({ at, ready, beats });
    while (looks[0]!.at < at - minuteMs) looks.shift();
    const first = looks[0]!;
    const minutes = (at - first.at) / minuteMs;
    return {
      /** Change of a queue's ready jobs; `null` at the first look. */
      readyPerMinute: (queue: string): number | null =>
        minutes === 0 ? null : rounded(((ready.get(queue) ?? 0) - (first.ready.get(queue) ?? 0)) / minutes),
      /** Rates of all workers, from their heartbeats. */
      ofWorkers: ratesOf([...beats.values()], looks),
    };
  };
}

/** Heartbeats have running totals. The rate is the difference between a worker's oldest and newest heartbeat here. */
function ratesOf(workers: readonly WorkerBeat[], looks: readonly Snapshot[]): Rates | null {
  const sum = { donePerMinute: 0, failedPerMinute: 0, retriedPerMinute: 0 };
  let isKnown = false;
  for (const { id, seenAt, counts } of workers) {
    const first = looks.find(({ beats }) => beats.has(id))!.beats.get(id)!;
    const minutes = (seenAt - first.seenAt) / minuteMs;
    if (minutes <= 0) continue;
    isKnown = true;
    const dead = (of: WorkerBeat['counts']) => of['dead-lettered'] + of.rejected;
    sum.donePerMinute += (counts.acked - first.counts.acked) / minutes;
    sum.failedPerMinute += (dead(counts) - dead(first.counts)) / minutes;
    sum.retriedPerMinute += (counts.requeued - first.counts.requeued) / minutes;
  }
  if (!isKnown) return null;
  return {
    donePerMinute: rounded(sum.donePerMinute),
    failedPerMinute: rounded(sum.failedPerMinute),
    retriedPerMinute: rounded(sum.retriedPerMinute),
  };
}
