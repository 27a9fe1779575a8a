/** `longshore status --watch`: looks again and again, as a picture on a terminal and as lines elsewhere. */

import type { Clock } from '../../../core/base/clock.ts';
import type { QueueStats } from '../../../core/contract/admin.ts';
import { goneAfterMs, workerStateOf } from '../../../core/kit/worker-state.ts';
import { createWaiters } from '../../backends/shared/waiters.ts';
import { within } from '../../waiting.ts';
import type { Input, Result } from '../definition.ts';
import { CliError, explain } from '../errors.ts';
import { openScreen } from '../output/screen.ts';
import { type Column, count, createUi, plain, type Style, short, span, type Ui } from '../output/ui.ts';
import { differences, type QueueRates, queueRates, type Rates } from './status-rates.ts';
import { untilStopped } from './stopping.ts';

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
  readonly workers: {
    readonly healthy: number;
    readonly unhealthy: number;
    readonly running: number;
    readonly concurrency: number;
  };
  /** Of all queues; `null` = not known yet. */
  readonly rates: Rates | null;
}

const longestLookMs = 10_000;
/** A job that waits longer is late, and then very late. */
const lateMs = 60_000;
const veryLateMs = 900_000;

export async function watchStatus(
  input: Pick<Input, 'io' | 'session' | 'json' | 'ui'>,
  names: readonly string[],
  everyMs: number,
): Promise<Result> {
  const { io, json, ui } = input;
  const look = await looker(input, names);
  const first = await inTime(io.clock, look(), null);
  await untilStopped({ io }, async (stopped) => {
    const keys = new AbortController();
    const signal = AbortSignal.any([stopped, keys.signal]);
    const isScreen = io.isTTY.stdout && !json;
    const screen = isScreen ? openScreen(io, () => keys.abort()) : null;
    const waiters = createWaiters(io.clock);
    function show(picture: Picture | Error): void {
      if (screen)
        screen.draw(drawn(picture, createUi({ colour: ui.colour, columns: io.columns }), io, everyMs));
      else if (picture instanceof Error) {
        const { code, message } = explain(picture);
        io.stderr.write(
          json ? `${JSON.stringify({ error: { code, message } })}\n` : `${code}: ${plain(message)}\n`,
        );
      } else io.stdout.write(json ? `${JSON.stringify(picture)}\n` : linesOf(picture));
    }
    try {
      for (let picture: Picture | Error = first; !signal.aborted; ) {
        show(picture);
        await waiters.wait(everyMs, signal);
        if (!signal.aborted) picture = await inTime(io.clock, look(), signal).catch((error: Error) => error);
      }
    } finally {
      screen?.end();
    }
  });
  return { data: null, text: '' };
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
    const healthy = beats.filter(({ seenAt }) => workerStateOf(seenAt, now) === 'healthy').length;
    const sum = (of: 'running' | 'concurrency') => beats.reduce((total, beat) => total + beat[of], 0);
    return {
      at: now,
      backend: client.backend.name,
      queues: stats.map((one) => ({
        ...one,
        rates: known?.get(one.queue) ?? null,
        readyPerMinute: readyPerMinute(one.queue),
      })),
      workers: {
        healthy,
        unhealthy: beats.length - healthy,
        running: sum('running'),
        concurrency: sum('concurrency'),
      },
      rates: known ? totalOf([...known.values()]) : all,
    };
  }
  return look;
}

/** A look, if it does not take too long. It rejects as soon as the signal aborts: a server that is silent does not hold up the end. */
async function inTime<T>(clock: Clock, looking: Promise<T>, signal: AbortSignal | null): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = (): never => {
    throw new CliError('INTERNAL', 1, `no answer within ${span(longestLookMs)}`);
  };
  signal?.addEventListener('abort', reject);
  return within(clock, longestLookMs, Promise.race([looking, promise]), late).finally(() =>
    signal?.removeEventListener('abort', reject),
  );
}

function totalOf(rates: readonly Rates[]): Rates {
  const sum = (of: keyof Rates) => rates.reduce((total, one) => total + one[of], 0);
  return {
    donePerMinute: sum('donePerMinute'),
    failedPerMinute: sum('failedPerMinute'),
    retriedPerMinute: sum('retriedPerMinute'),
  };
}

const lateness = (ms: number | null | undefined): Style | null =>
  ms == null || ms <= lateMs ? null : ms <= veryLateMs ? 'yellow' : 'red';

function drawn(
  picture: Picture | Error,
  ui: Ui,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  everyMs: number,
): string[] {
  if (picture instanceof Error) {
    const { code, message } = explain(picture);
    // In lines that fit: its end says what to do.
    const most = `.{1,${columns}}`;
    const lines = plain(`${code}: ${message}`).match(new RegExp(`${most}(?= |$)|${most}`, 'g')) ?? [];
    return [
      ...lines.map((line) => ui.paint('red', line.trim())),
      `Looking again every ${span(everyMs)}; q ends.`,
    ];
  }
  const { at, backend, queues, workers } = picture;
  const time = new Date(at).toTimeString().slice(0, 8);
  const most = Math.max(1, rows - 6);
  const table = ui.table(queues.slice(0, most), tableColumns(queues, columns)).split('\n');
  const more =
    queues.length > most ? [ui.paint('dim', `… ${count(queues.length - most, 'more queue')}`)] : [];
  const unhealthy = workers.unhealthy > 0 ? ui.paint('yellow', ` (${workers.unhealthy} unhealthy)`) : '';
  const slots = `, ${workers.running} of ${workers.concurrency} slots busy`;
  return [
    ui.paint('dim', `${time}  ${backend}, every ${span(everyMs)}, q ends`),
    `${count(workers.healthy + workers.unhealthy, 'worker')}${unhealthy}${slots}${rateText(picture.rates)}`,
    '',
    ...table,
    ...more,
  ];
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
    ...(width >= 92 ? [right('delayed', (row) => short(row.delayed))] : []),
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
  // What is left of a line: 8 for a number and the space before it, and a column for `paused`.
  const room = Math.max(8, width - numbers.length * 9);
  const name = ({ queue, paused }: Row): string => {
    const mark = paused ? ' ⏸' : '';
    const most = room - mark.length;
    return (queue.length > most ? `${queue.slice(0, most - 1)}…` : queue) + mark;
  };
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
    .join('');
}
