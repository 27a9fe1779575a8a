/** The verdict of a move on each store of a backend: the store moves, stays, or prevents the move because jobs still need it. */

import type { BatchState } from '../../core/contract/derived/batches.ts';
import type { StoredSchedule } from '../../core/contract/derived/schedules.ts';
import type { Stores } from '../../core/contract/store.ts';
import { childId } from '../../core/envelope/flow-ids.ts';
import { namesIn } from '../../core/features/limits/paused-jobs.ts';

export type SomeStores = Partial<Stores>;

export interface Sides {
  /** Stores of both sides, including separate ones. */
  readonly from: SomeStores;
  readonly to: SomeStores;
  readonly queues: readonly string[];
  /** Whether all queues of the source move. */
  readonly whole: boolean;
}

type StoreName = Exclude<keyof Stores, 'migrate' | 'diagnose' | 'close'>;
type Verdict = 'moves' | 'stays' | ((sides: Sides) => Promise<string | null>);

/** Each store needs a verdict, or this does not compile. */
export const verdicts: Readonly<Record<StoreName, Verdict>> = {
  keys: 'moves', // only keys of moving jobs
  records: 'moves', // only records of moving jobs
  steps: 'moves',
  payloads: 'stays', // both sides must use the same store
  workers: 'stays',
  metrics: 'stays',
  audit: 'stays',
  texts: 'stays', // stores that are built on texts have their own verdicts
  limits: pausedJobs, // slots and waiters start again
  batches: openBatches,
  schedules: storedSchedules,
};

/** Reasons why the move must not start, one sentence each. */
export async function reasonsToStay(sides: Sides): Promise<string[]> {
  const found: string[] = [];
  for (const verdict of Object.values(verdicts)) {
    const refusal = typeof verdict === 'function' ? await verdict(sides) : null;
    if (refusal !== null) found.push(refusal);
  }
  return found;
}

const mostNamed = 5;

function named(names: readonly string[]): string {
  const rest = names.length - mostNamed;
  return `${names.slice(0, mostNamed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

async function pausedJobs({ from, to }: Sides): Promise<string | null> {
  if (!from.limits) return null;
  const there = new Set(to.limits ? await namesIn(to.limits) : []);
  const names = (await namesIn(from.limits)).filter((name) => !there.has(name));
  if (names.length === 0) return null;
  return `Jobs are paused at the source and would run at the target: ${named(names)}. Pause them there, too (longshore jobs pause), or resume them here.`;
}

/** Children of a batch that are read per page. */
const pageSize = 1_000;
const waiting = ['pending', 'retrying'];

async function openBatches(sides: Sides): Promise<string | null> {
  const open: string[] = [];
  for await (const batch of batchesOf(sides.from))
    if (batch.completedAt === null && !(await sides.to.batches?.get(batch.id)) && (await moves(sides, batch)))
      open.push(batch.id);
  if (open.length === 0) return null;
  return `Children of batches wait at the source, and the target would not know their batches: ${named(open)}. Let them end here, or cancel them (longshore batches cancel).`;
}

async function* batchesOf({ batches }: SomeStores): AsyncGenerator<BatchState> {
  for (let after: string | undefined; batches; ) {
    const page = await batches.list({ max: pageSize, ...(after !== undefined && { after }) });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)!.id;
  }
}

async function moves({ from: { batches, records }, queues }: Sides, { id }: BatchState): Promise<boolean> {
  for (let next = 0; ; ) {
    const numbers = await batches!.unended(id, next, pageSize);
    for (const number of numbers) {
      const record = await records?.get(childId(id, number));
      if (record && waiting.includes(record.status) && queues.includes(record.queue)) return true;
    }
    if (numbers.length < pageSize) return false;
    next = numbers.at(-1)! + 1;
  }
}

async function storedSchedules({ from, to, whole }: Sides): Promise<string | null> {
  if (!whole) return null; // the source continues to tick
  const names: string[] = [];
  for await (const { name } of schedulesOf(from)) if (!(await to.schedules?.get(name))) names.push(name);
  if (names.length === 0) return null;
  return `Schedules that were made at run time would stay behind: ${named(names)}. Upsert them at the target, or remove them here (longshore schedule remove).`;
}

async function* schedulesOf({ schedules }: SomeStores): AsyncGenerator<StoredSchedule> {
  for (let after = ''; schedules; ) {
    const page = await schedules.list({ after, max: pageSize });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)!.name;
  }
}
