/** Filters of job lists, names of queues, and shortened ids: lists print the beginning of an id, and every command accepts it. */

import { hint } from '../../../core/base/nearest.ts';
import type { RecordFilter } from '../../../core/contract/store.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { eachOf } from '../../../core/kernel/enqueue/backends.ts';
import { statuses } from '../../../core/kit/records/partitions.ts';
import type { ListedJob } from '../../../core/operations/types.ts';
import type { OfOne, OfSeveral } from '../../../core/routing/each.ts';
import { flag, maxFlag, queueFlag } from '../config/flags.ts';
import { duration, given, id, idempotencyKey, name, oneOf, words } from '../config/values.ts';
import type { Values } from '../definition.ts';
import { CliError, usage } from '../errors.ts';
import type { Session } from '../session.ts';
import { notFoundIn } from './perform.ts';

export const filterFlags = {
  queue: queueFlag,
  job: flag('--job <name>', 'only of this job', name),
  status: flag('--status <status>', `only with this status: ${statuses.join(', ')}`, oneOf(statuses)),
  tenant: flag('--tenant <id>', 'only of this tenant', words),
  key: flag('--key <key>', 'only with this idempotency key', idempotencyKey),
  schedule: flag('--schedule <name>', 'only those that this schedule enqueued', name),
  worker: flag('--worker <name>', 'only those with an attempt on this worker or host', words),
  error: flag('--error <text>', 'only with this text in an error; case counts', words),
  id: flag('--id <prefix>', 'only those whose id begins with it', id),
  olderThan: flag('--older-than <duration>', 'only those enqueued at least this long ago', duration()),
  newerThan: flag('--newer-than <duration>', 'only those enqueued within this time', duration()),
} as const;

export function filterOf(flags: Values<typeof filterFlags>, now: number): RecordFilter {
  const { queue, job, status, tenant, key, schedule, worker, error, id: idPrefix } = flags;
  const { olderThan, newerThan } = flags;
  return given({
    ...{ queue, job, status, tenantId: tenant, idempotencyKey: key, schedule, worker, error, idPrefix },
    createdFrom: newerThan === undefined ? undefined : now - newerThan,
    createdBefore: olderThan === undefined ? undefined : now - olderThan + 1,
  });
}

/** The queues of these names with their counts, on all backends; without names all queues. Throws `NOT_FOUND`. */
export async function chosenQueues(session: Session, names: readonly string[]) {
  const operator = await session.operator();
  const { queues, ...missed } = await operator.queues.list();
  const known = queues.map(({ queue }) => queue);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw notFoundIn(missed, `There is no queue "${unknown}" here.${hint(unknown, known)}`);
  const chosen = names.length > 0 ? queues.filter(({ queue }) => names.includes(queue)) : queues;
  return { queues: chosen, ...missed };
}

/** A hint after an empty list: the app may not have a job of this name. */
export function unknownJob({ jobs }: App, job: string | undefined): string {
  if (job === undefined || jobs.has(job)) return '';
  return ` The app has no job "${job}".${hint(job, jobs.keys())}`;
}

/** Hints after an empty list: names in the filter that the app does not have. Such a name is allowed, because records outlive jobs. */
export async function unknownNames(
  { queue, job, schedule }: RecordFilter,
  session: Session,
): Promise<string> {
  const { app } = await session.config();
  const schedules = app.schedules.map(({ name }) => name);
  const noSchedule = schedule !== undefined && !schedules.includes(schedule);
  return [
    unknownJob(app, job),
    queue === undefined ? '' : await unknownQueue(queue, session),
    noSchedule ? ` The app has no schedule "${schedule}".${hint(schedule, schedules)}` : '',
  ].join('');
}

/** A hint after an empty list: the queue may not exist. */
async function unknownQueue(queue: string, session: Session): Promise<string> {
  const clients = eachOf(await session.keyless());
  // A backend that cannot list its queues may have this one.
  if (clients.some(({ backend }) => !backend.admin)) return '';
  try {
    await chosenQueues(session, [queue]);
    return '';
  } catch (error) {
    if (error instanceof CliError && error.code === 'NOT_FOUND') return ` ${error.message}`;
    throw error;
  }
}

/** Jobs of all backends, newest first. */
export async function firstJobs(
  session: Session,
  filter: RecordFilter,
  max: number,
  after?: string,
): Promise<Pages<OfOne<ListedJob>>> {
  const { jobs } = await session.operator();
  const pageOf: Parameters<typeof firstOf<OfOne<ListedJob>>>[0] = async (page) => {
    const { jobs: found, ...rest } = await jobs.list(filter, page);
    return { found, ...rest };
  };
  return firstOf(pageOf, max, after);
}

export const pageFlags = {
  max: maxFlag,
  after: flag('--after <cursor>', 'the next page, with the `next` of the page before', words),
} as const;

interface Pages<Row> extends OfSeveral {
  readonly found: readonly Row[];
  readonly next: string | null;
}

/** Reads pages until there are `max` rows. A page may have fewer rows and not be the last. */
export async function firstOf<Row>(
  pageOf: (page: { readonly max: number; readonly after?: string }) => Promise<Pages<Row>>,
  max: number,
  after?: string,
): Promise<Pages<Row>> {
  const found: Row[] = [];
  for (let from = after; ; ) {
    const { found: some, ...rest } = await pageOf({ max: max - found.length, ...given({ after: from }) });
    found.push(...some);
    if (rest.next === null || found.length >= max) return { found, ...rest };
    from = rest.next;
  }
}

export const idArgs = [{ name: '<id>', text: 'id of the job, or its first characters', parse: id }] as const;

/**
 * Ids begin with the millisecond of their creation. This length has its digits and three random ones, so that two jobs hardly ever
 * share a prefix.
 */
const shownLength = 18;
/** With fewer characters, all jobs of several hours share a prefix. */
const leastLength = 8;
const mostCandidates = 5;

/** Ids derived from a batch or a chain. They are not shortened, because the jobs differ only at the end. */
const derived = /^(?:batch|batch-end|chain)\./;

/** Shortens the ids of a list, long enough to tell them apart. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const all = [...new Set(ids)].filter((id) => !derived.test(id));
  let length = shownLength;
  while (new Set(all.map((id) => id.slice(0, length))).size < all.length) length++;
  return (id) => (derived.test(id) ? id : id.slice(0, length));
}

/** A job that may match a shortened id. */
interface Candidate {
  readonly id: string;
  readonly job: string;
}

/** The whole id; `null` = no match. Throws `USAGE` if several jobs match. */
function theOne(given: string, candidates: readonly Candidate[]): string | null {
  const exact = candidates.find(({ id }) => id === given);
  if (exact || candidates.length < 2) return (exact ?? candidates[0])?.id ?? null;
  const named = candidates.slice(0, mostCandidates).map(({ id, job }) => `${id} (${job})`);
  const more = candidates.length > mostCandidates ? ', and more' : '';
  throw usage(`Id "${given}" matches several jobs: ${named.join(', ')}${more}. Add more characters.`);
}

type Candidates = (beginning: string) => Promise<readonly Candidate[]>;
const none: Candidates = async () => [];

/**
 * Completes an id of which at least the first 8 characters are given. An id without a record is returned unchanged, and the command
 * reports that there is no such job. Throws `USAGE` if several jobs match, and `INTERNAL` if a backend that may have it does not answer.
 *
 * @param unrecorded finds candidates if the queue keeps no records
 */
export async function wholeId(session: Session, given: string, unrecorded = none): Promise<string> {
  if (isUuid(given)) return given;
  const client = await session.keyless();
  if (eachOf(client).every(({ stores }) => stores.records.recordsDisabled))
    return theOne(given, await unrecorded(given)) ?? given;
  const isWhole = client.status(given).then(
    (record) => record !== null,
    () => false, // the list below tells which backend does not answer
  );
  if (given.length < leastLength || (await isWhole)) return given;
  const { found, ...missed } = await firstJobs(session, { idPrefix: given }, mostCandidates + 1);
  const id = theOne(given, found);
  if (id === null && missed.unavailable) throw notFoundIn(missed, '');
  return id ?? given;
}

/** Completes each id. Keeps the order and removes duplicates. */
export async function wholeIds(
  session: Session,
  given: readonly string[],
  unrecorded = none,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const one of given) ids.push(await wholeId(session, one, unrecorded));
  return [...new Set(ids)];
}

const isUuid = (text: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text);
