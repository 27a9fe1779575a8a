/** What a tick costs with a million schedules that were made at run time, of which ten or ten thousand are due, and with ten in all. */

import * as z from 'zod/mini';
import type { ScheduleRow } from '../../../core/contract/derived/schedules.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { rowOf } from '../../../core/features/schedules/stored/text.ts';
import { connect, createApp, defineJob, keyRing, tick } from '../../../core/index.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { type Bench, limitRow, type Row } from './bench.ts';

const count = 1_000_000;
const due = 10;
const stormy = 10_000;
const mostTicks = 10;
const dayMs = 86_400_000;
const longestMs = 200;
const atOnce = 256;

const job = defineJob({ name: 'remind', payload: z.object({ n: z.number() }), handle: async () => {} });

const app = createApp({
  jobs: [job],
  signing: keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(7) }]),
});

/** @param at since when moments count */
function row(name: string, everyMs: number, at: number, nextAt: number): ScheduleRow {
  const times = { createdAt: at, changedAt: at, since: at };
  const kind = { everyMs, job: 'remind', overlap: 'allow', missed: 'one' } as const;
  return rowOf(app, name, { ...kind, payload: { n: 1 }, ...times }, nextAt);
}

/** The first ten come due every second. */
async function fillDue({ stores }: QueueBackend): Promise<void> {
  const at = Date.now();
  for (let n = 0; n < due; n++) await stores!.schedules!.write(row(`user-${n}`, 1_000, at, at), null);
}

/** All the others, in a day or later. */
export function* others(): Generator<ScheduleRow> {
  const at = Date.now();
  for (let n = due; n < count; n++) yield row(`user-${n}`, 7 * dayMs, at, at + (1 + (n % 6)) * dayMs);
}

/** One by one, many at once: where nothing is faster. */
export const writeAll = ({ stores }: QueueBackend): Promise<void> =>
  forEach(others(), (row) => stores!.schedules!.write(row, null), atOnce);

/** @param fill writes `others` */
export async function schedules(
  bench: Bench,
  backend: QueueBackend,
  fill: () => Promise<unknown>,
): Promise<Row[]> {
  const client = connect(app, backend);
  async function measure(): Promise<{ ticks: number[]; empty: number[] }> {
    const [ticks, empty]: [number[], number[]] = [[], []];
    await tick(app, client);
    for (let round = 0; round < 3 * bench.rounds; round++) {
      await new Promise((resolve) => setTimeout(resolve, 1_100)); // real time: the database's clock decides what is due
      for (const [samples, expected] of [
        [ticks, due],
        [empty, 0],
      ] as const) {
        const began = performance.now();
        const ids = await tick(app, client);
        samples.push(performance.now() - began);
        if (expected > 0 && ids.length < due)
          throw new Error(`Expected ${due} jobs of a tick, got ${ids.length}.`);
      }
    }
    return { ticks, empty };
  }
  /** Very many come due at once. */
  async function measureStorm(): Promise<Record<'seconds' | 'ticks' | 'cpuMs' | 'grownMb', number>> {
    const at = Date.now();
    const rows = Array.from({ length: stormy }, (_, n) => row(`storm-${n}`, dayMs, at - dayMs, at)); // each is due once
    await forEach(rows, (one) => backend.stores!.schedules!.write(one, null), atOnce);
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    let most = before;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 20);
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    let [ticks, enqueued] = [0, 0]; // a tick ends after 30 s, and the next one goes on
    for (; enqueued < stormy && ticks < mostTicks; ticks++) enqueued += (await tick(app, client)).length;
    const { user, system } = process.cpuUsage(cpu);
    const seconds = (performance.now() - began) / 1_000;
    clearInterval(timer);
    if (enqueued < stormy) throw new Error(`Expected ${stormy} jobs of ${ticks} ticks, got ${enqueued}.`);
    return {
      seconds,
      ticks,
      cpuMs: (user + system) / 1_000 / stormy,
      grownMb: (most - before) / 1024 / 1024,
    };
  }
  await fillDue(backend);
  const few = await measure();
  await fill();
  const many = await measure();
  const storm = await measureStorm();
  return [
    limitRow('a tick, 10 schedules, 10 due', 'ms', few.ticks, null),
    limitRow('a tick, 1M schedules, 10 due', 'ms', many.ticks, longestMs),
    limitRow('a tick, 10 schedules, right after', 'ms', few.empty, null),
    limitRow('a tick, 1M schedules, right after', 'ms', many.empty, longestMs),
    limitRow('1M schedules, 10k due: until all are enqueued', 's', [storm.seconds], null),
    limitRow('ticks that it takes', 'ticks', [storm.ticks], null),
    limitRow('CPU of this process for each of them', 'ms', [storm.cpuMs], 1),
    limitRow('memory that it takes', 'MB', [storm.grownMb], 64),
  ];
}
