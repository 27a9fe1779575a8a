/** The picture of `longshore top` and `longshore status --watch`: queues with their rates, and what runs. */

import type { QueueStats } from '../../../core/contract/admin.ts';
import { type QueueRates, queueRates, type Rates, totalRates } from '../../../core/features/metrics/rates.ts';
import { goneAfterMs, workerTotals } from '../../../core/kit/worker-state.ts';
import type { Input, Result } from '../definition.ts';
import { lateness } from '../output/lateness.ts';
import { type Column, count, number, type Style, short, span, type Ui } from '../output/ui.ts';
import { type Running, runningJobs, runningTable } from './running-jobs.ts';
import { differences } from './status-rates.ts';
import { watch } from './watch.ts';

interface Row extends QueueStats {
  /** `null` where no numbers are kept. */
  readonly rates: QueueRates | null;
  /** By how much `ready` changes; `null` at the first look. */
  readonly readyPerMinute: number | null;
}

interface Picture {
  readonly at: number;
  readonly backend: string;
  readonly queues: readonly Row[];
  readonly workers: ReturnType<typeof workerTotals>;
  /** Of all queues; `null` = not known yet. */
  readonly rates: Rates | null;
  readonly running: readonly Running[];
}

const orders = ['name', 'oldest', 'ready', 'done', 'failed'] as const;
type Order = (typeof orders)[number];

export async function watchQueues(
  input: Pick<Input, 'io' | 'session' | 'json' | 'ui'>,
  names: readonly string[],
  everyMs: number,
): Promise<Result> {
  return watch(input, everyMs, {
    look: await looker(input, names),
    drawn: (picture, ui, order) => drawn(picture, ui, order as Order),
    text: linesOf,
    data: (picture) => picture,
    orders,
  });
}

async function looker({ session, io }: Pick<Input, 'io' | 'session'>, names: readonly string[]) {
  const admin = await session.admin('tell the state of its queues');
  const client = await session.client();
  const rates = queueRates(client);
  const since = differences();

  async function look(): Promise<Picture> {
    const now = io.clock.now();
    const stats = (await Promise.all(names.map((queue) => admin.stats(queue)))).flat();
    const beats = await client.stores.workers.list(now - goneAfterMs);
    const known = await rates(names, client.app.clock.now());
    const { readyPerMinute, all } = since(stats, beats, now);
    const running = await runningJobs(client, beats, names, now);
    return {
      at: now,
      backend: client.backend.name,
      queues: stats.map((one) => ({
        ...one,
        rates: known?.get(one.queue) ?? null,
        readyPerMinute: readyPerMinute(one.queue),
      })),
      workers: workerTotals(beats, now),
      rates: known ? totalRates([...known.values()]) : all,
      running,
    };
  }
  return look;
}

const values: Readonly<Record<Exclude<Order, 'name'>, (row: Row) => number>> = {
  oldest: (row) => row.oldestReadyMs ?? -1,
  ready: (row) => row.ready,
  done: (row) => row.rates?.donePerMinute ?? -row.readyPerMinute!,
  failed: (row) => row.rates?.failedPerMinute ?? row.dead,
};

/** Most first; where that is equal, and by name, as the app has them. */
function sorted(queues: readonly Row[], order: Order): readonly Row[] {
  if (order === 'name') return queues;
  const value = values[order];
  return queues.toSorted((a, b) => value(b) - value(a));
}

function drawn({ at, backend, queues, workers, rates, running }: Picture, ui: Ui, order: Order) {
  const unhealthy = workers.unhealthy > 0 ? ui.paint('yellow', ` (${workers.unhealthy} unhealthy)`) : '';
  const slots = `, ${number(workers.running)} of ${number(workers.concurrency)} slots busy`;
  const all = count(workers.healthy + workers.unhealthy, 'worker');
  const tables = [ui.table(sorted(queues, order), tableColumns(queues, ui.columns ?? 80))];
  if (running.length > 0) tables.push(runningTable(running, ui, at));
  return {
    head: [`${backend}: ${all}${unhealthy}${slots}${rateText(rates)}`, ''],
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
  return [{ title: 'queue', value: name, style: ({ paused }) => (paused ? 'yellow' : null) }, ...numbers];
}

/** One line for each queue, for a file or a pipe. */
function linesOf({ at, queues }: Picture): string {
  const time = new Date(at).toISOString();
  return queues
    .map(({ queue, ready, delayed, leased, dead, paused, oldestReadyMs, rates, readyPerMinute }) => {
      const facts = {
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
