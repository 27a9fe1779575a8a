/** A batch with its callbacks and children, for people. */

import { LongshoreError, shown } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import type { BatchState } from '../../contract/derived/batches.ts';
import type { JobStatus } from '../../contract/outcome.ts';
import type { JobRecord } from '../../contract/store.ts';
import {
  batchPattern,
  childId,
  childOf,
  type EndName,
  endId,
  endNames,
  linkOf,
} from '../../envelope/flow-ids.ts';
import type { Batch } from '../../kernel/app/batch.ts';
import { eachOf } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { forEach } from '../../kit/parallel.ts';
import { runsOf } from '../../kit/records/partitions.ts';
import { storeOf } from './check.ts';
import { endsOf } from './complete.ts';
import { planOf, verifiedPlan } from './plan.ts';
import { childStates, endOf } from './roles.ts';
import { viewOf } from './view.ts';

export interface BatchCall {
  readonly end: EndName;
  readonly job: string;
  /** The id of the callback's job. */
  readonly id: string;
  /** `due`: all children have ended, and the callback is not enqueued yet. `left out`: it belongs to the other outcome. */
  readonly state: 'not yet' | 'due' | 'called' | 'left out';
}

export interface BatchDetail extends Batch {
  /** 1, and one more each time children were retried. */
  readonly round: number;
  readonly allowFailures: number | string;
  /** The callbacks of this round. */
  readonly calls: readonly BatchCall[];
  /** The link of the chain whose jobs it counts; `null` = it does not belong to a chain. */
  readonly chain: { readonly chain: string; readonly link: number } | null;
  /** Why its callbacks cannot be enqueued here; `null` = they can. */
  readonly refused: string | null;
}

export interface BatchChild {
  /** Counted from 0. */
  readonly number: number;
  readonly id: string;
  /** As the batch counts it. */
  readonly end: 'open' | 'succeeded' | 'failed';
  /** `null` = no record of it is kept, or it was removed. */
  readonly record: {
    readonly job: string;
    readonly status: JobStatus;
    readonly error: string | null;
    readonly runs: number;
    readonly finishedAt: number | null;
  } | null;
}

export interface ChildrenRequest {
  /** `open` = not ended. @default 'all' */
  readonly state?: (typeof childStates)[number];
  /** The `next` of the page before. */
  readonly after?: string;
  /** 1 to 500. @default 100 */
  readonly max?: number;
}

export interface BatchChildPage {
  /** Sorted by number. */
  readonly children: readonly BatchChild[];
  /** `null` = this is the last page. */
  readonly next: string | null;
}

const mostChildren = 500;

interface Kept {
  /** The client of the backend that keeps it. */
  readonly home: Client;
  readonly state: BatchState;
}

/** Throws `CONFIG` if no backend keeps batches. */
async function find(client: Client, id: string): Promise<Kept | null> {
  const homes = eachOf(client).filter(({ stores }) => stores.batches);
  if (homes.length === 0) storeOf(client);
  if (!batchPattern.test(id)) return null;
  for (const home of homes) {
    const state = await storeOf(home).get(id);
    if (state) return { home, state };
  }
  return null;
}

/** `null` = unknown, or no longer kept. Throws `CONFIG` if no backend keeps batches. */
export async function showBatch(client: Client, id: string): Promise<BatchDetail | null> {
  const found = await find(client, id);
  if (!found) return null;
  const { state } = found;
  const { app } = client;
  const { round, completedAt, called } = state;
  const plan = planOf(state);
  const chosen = completedAt === null ? null : endsOf(plan, state);
  const calls = endNames.flatMap((end): BatchCall[] => {
    const job = plan.calls[end];
    if (job === undefined) return [];
    const state =
      chosen === null ? 'not yet' : !chosen.includes(end) ? 'left out' : called ? 'called' : 'due';
    return [{ end, job, id: endId(id, end, round), state }];
  });
  return {
    ...viewOf(state, app.clock.now()),
    round,
    allowFailures: plan.allowFailures,
    calls,
    chain: linkOf(id),
    refused: called ? null : whyRefused(client, state, calls),
  };
}

function whyRefused({ app }: Client, state: BatchState, calls: readonly BatchCall[]): string | null {
  if (calls.length === 0) return null;
  try {
    verifiedPlan(app, state);
  } catch (error) {
    return toError(error).message;
  }
  const strange = calls.find(({ job, state }) => state !== 'left out' && !app.jobs.has(job));
  return strange ? `This app has no job ${shown(strange.job)}, which is ${strange.end}.` : null;
}

/** `null` = unknown, or no longer kept. Throws `CONFIG` if no backend keeps batches, and `OPTION` for an invalid page. */
export async function batchChildren(
  client: Client,
  id: string,
  { state = 'all', after = '', max = 100 }: ChildrenRequest = {},
): Promise<BatchChildPage | null> {
  if (!Number.isSafeInteger(max) || max < 1 || max > mostChildren)
    throw wrong(`max of children to be an integer from 1 to ${mostChildren}, got ${shown(max)}`);
  if (!childStates.includes(state))
    throw wrong(`state of children to be one of ${childStates.join(', ')}, got ${shown(state)}`);
  if (!/^\d{0,15}$/.test(after))
    throw wrong(`after to be the \`next\` of an earlier page, got ${shown(after)}`);
  const found = await find(client, id);
  if (!found) return null;
  const from = after === '' ? 0 : Number(after);
  const numbers = await numbersOf(found, state, from, max + 1);
  const page = numbers.slice(0, max);
  return {
    children: await childrenOf(found, page, state),
    next: numbers.length > max ? String(page.at(-1)! + 1) : null,
  };
}

async function numbersOf(
  { home, state: { id, sent } }: Kept,
  state: NonNullable<ChildrenRequest['state']>,
  from: number,
  max: number,
): Promise<readonly number[]> {
  const store = storeOf(home);
  if (state === 'failed') return store.failed(id, from, max);
  if (state === 'open') return (await store.unended(id, from, max)).filter((number) => number < sent);
  return Array.from({ length: Math.max(0, Math.min(max, sent - from)) }, (_, i) => from + i);
}

async function childrenOf(
  { home, state: { id: batch } }: Kept,
  numbers: readonly number[],
  state: NonNullable<ChildrenRequest['state']>,
): Promise<BatchChild[]> {
  const [from] = numbers;
  if (from === undefined) return [];
  const endOf = state === 'all' ? await endsIn(home, batch, from, numbers.length) : () => state;
  const children: BatchChild[] = [];
  await forEach(numbers.entries(), async ([i, number]) => {
    const id = childId(batch, number);
    const record = await home.stores.records.get(id);
    children[i] = { number, id, end: endOf(number), record: record && brief(record) };
  });
  return children;
}

/** The ends of a range of children, from their marks. */
async function endsIn(
  home: Client,
  batch: string,
  from: number,
  count: number,
): Promise<(number: number) => BatchChild['end']> {
  const store = storeOf(home);
  const [open, failed] = await Promise.all([
    store.unended(batch, from, count).then((numbers) => new Set(numbers)),
    store.failed(batch, from, count).then((numbers) => new Set(numbers)),
  ]);
  return (number) => (open.has(number) ? 'open' : failed.has(number) ? 'failed' : 'succeeded');
}

function brief(record: JobRecord): NonNullable<BatchChild['record']> {
  const { job, status, error, finishedAt } = record;
  return { job, status, error, finishedAt, runs: runsOf(record) };
}

/** The role of a job in a batch, by its id. */
export type BatchRole =
  | { readonly batch: string; readonly name: string | null; readonly number: number }
  | { readonly batch: string; readonly name: string | null; readonly end: EndName };

/** `null` = the job belongs to no batch. `name` is `null` if the batch is no longer kept. */
export async function batchRoleOf(client: Client, id: string): Promise<BatchRole | null> {
  const role = childOf(id) ?? endOf(id);
  if (!role) return null;
  const { batch } = role;
  const kept = eachOf(client).some(({ stores }) => stores.batches) ? await find(client, batch) : null;
  const name = kept && planOf(kept.state).name;
  return 'end' in role ? { batch, name, end: role.end } : { batch, name, number: role.number };
}

const wrong = (expected: string): LongshoreError => new LongshoreError('OPTION', `Expected ${expected}.`);
