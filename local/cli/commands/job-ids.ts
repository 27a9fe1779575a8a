/** Ids of jobs as people copy them: lists show how an id begins, and every command takes that for the whole id. */

import { id } from '../config/values.ts';
import { usage } from '../errors.ts';
import type { Session } from '../session.ts';
import { firstJobs } from './select-jobs.ts';

export const idArgs = [{ name: '<id>', text: 'id of the job, or how it begins', parse: id }] as const;

/**
 * Our ids begin with the millisecond in which they were made. These are its digits and three random ones, so that a prefix stands for
 * the same job in every list, and hardly ever for two.
 */
const shownLength = 18;
/** Fewer characters are the same for all jobs of hours. */
const leastLength = 8;
const mostCandidates = 5;

/** Made of a batch or a chain, so jobs that the list leaves out begin alike: their number is at the end. */
const derived = /^(?:batch|batch-end|chain)\./;

/** How each of these ids is shown in one list: long enough to tell them apart. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const all = [...new Set(ids)].filter((id) => !derived.test(id));
  let length = shownLength;
  while (new Set(all.map((id) => id.slice(0, length))).size < all.length) length++;
  return (id) => (derived.test(id) ? id : id.slice(0, length));
}

/** One of the jobs that an id may stand for. */
interface Candidate {
  readonly id: string;
  readonly job: string;
}

/** The whole id; `null` = none begins so. Throws `USAGE` when several do. */
function theOne(given: string, candidates: readonly Candidate[]): string | null {
  const exact = candidates.find(({ id }) => id === given);
  if (exact || candidates.length < 2) return (exact ?? candidates[0])?.id ?? null;
  const named = candidates.slice(0, mostCandidates).map(({ id, job }) => `${id} (${job})`);
  const more = candidates.length > mostCandidates ? ', and more' : '';
  throw usage(
    `Expected an id that only one job has, got "${given}": ${named.join(', ')}${more}. Add characters to it.`,
  );
}

type Candidates = (beginning: string) => Promise<readonly Candidate[]>;
const none: Candidates = async () => [];

/**
 * The id of the job that is meant, whole or at least 8 characters of its beginning. One that no record has comes back as it is: whether
 * there is such a job is for the command to say. Throws `USAGE` when several jobs begin so.
 *
 * @param unrecorded where the queue keeps no records
 */
export async function wholeId(session: Session, given: string, unrecorded = none): Promise<string> {
  if (isUuid(given)) return given;
  const { records } = (await session.client()).stores;
  if (records.recordsDisabled) return theOne(given, await unrecorded(given)) ?? given;
  if ((await records.get(given)) !== null || given.length < leastLength) return given;
  const { found } = await firstJobs(records, { idPrefix: given }, mostCandidates + 1);
  return theOne(given, found) ?? given;
}

/** Of each, in the same order and each once. */
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
