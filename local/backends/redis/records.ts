import type { JobStatus } from '../../../core/contract/outcome.ts';
import type { CancelResult, JobRecord, RecordStore } from '../../../core/contract/store.ts';
import type { RedisState } from './index.ts';
import { type Found, idOf, publicRecord, wholeOf } from './rows.ts';

type Whole = NonNullable<ReturnType<typeof wholeOf>>;

/** Where jobs of a status are, and how an id is read from a member there. */
const places = {
  ready: idOf,
  delayed: idOf,
  leases: (token: string) => token.slice(24),
  done: (id: string) => id,
  dead: (id: string) => id,
} as const;
type PlaceName = keyof typeof places;
const waiting: readonly PlaceName[] = ['ready', 'delayed'];
const placesOf: Readonly<Record<JobStatus, readonly PlaceName[]>> = {
  pending: waiting,
  retrying: waiting,
  processing: ['leases'],
  completed: ['done'],
  cancelled: ['done'],
  failed: ['dead'],
  expired: ['dead'],
};

const pageSize = 200;
/** How far a list looks into each place: the newest of a filter that hardly anything matches may lie deeper. */
const deepest = 10_000;

/** By creation, the newest first. */
export const newestFirst = (a: Whole, b: Whole): number =>
  b.createdAt - a.createdAt || (a.order < b.order ? 1 : -1);

/** Bodies can be long: they only come with `whole`. */
export async function readJobs(
  state: RedisState,
  queue: string,
  ids: readonly string[],
  what: 'facts' | 'whole' = 'facts',
): Promise<Whole[]> {
  if (ids.length === 0) return [];
  const found = (await state.manage('reading', queue, what, ids)) as Found[];
  return found.flatMap((one, i) => wholeOf(queue, ids[i]!, one) ?? []);
}

export function redisRecords(state: RedisState): RecordStore {
  /** Asks every queue; a job is in one of them. */
  async function everywhere(during: string, what: string, args: readonly string[]): Promise<unknown[]> {
    const queues = await state.queues();
    return Promise.all(queues.map((queue) => state.manage(during, queue, what, args)));
  }

  /** The matches of one place, from its end. */
  async function newestIn(
    queue: string,
    place: PlaceName,
    matches: (one: Whole) => boolean,
    max: number,
  ): Promise<Whole[]> {
    const chosen: Whole[] = [];
    for (let from = 0; from < deepest && chosen.length < max; from += pageSize) {
      const key = `${state.base(queue)}:${place}`;
      const range = ['ZRANGE', key, `${from}`, `${from + pageSize - 1}`, 'REV'];
      const members = (await state.link.send('listing', range)) as string[];
      const jobs = await readJobs(state, queue, members.map(places[place]));
      chosen.push(...jobs.filter(matches));
      if (members.length < pageSize) break;
    }
    return chosen;
  }

  return {
    async get(id) {
      for (const queue of await state.queues()) {
        const [found] = await readJobs(state, queue, [id]);
        if (found) return publicRecord(found);
      }
      return null;
    },
    async list({ queue, job, status, max = 100 }): Promise<JobRecord[]> {
      const queues = queue === undefined ? await state.queues() : [queue];
      const names = status === undefined ? (Object.keys(places) as PlaceName[]) : placesOf[status];
      const matches = (one: Whole) =>
        (job === undefined || one.job === job) && (status === undefined || one.status === status);
      const lists = await Promise.all(
        queues.flatMap((name) => names.map((place) => newestIn(name, place, matches, max))),
      );
      // A job that moved meanwhile can have been met twice.
      const byId = new Map(lists.flat().map((one) => [one.id, one]));
      return [...byId.values()].sort(newestFirst).slice(0, max).map(publicRecord);
    },
    async progress(id, token, progress) {
      const answers = await everywhere('writing progress', 'progress', [id, token, JSON.stringify(progress)]);
      return answers.includes(1);
    },
    async cancel(id) {
      const answers = (await everywhere('cancelling', 'cancel', [id])) as CancelResult[];
      const told = answers.find((answer) => answer !== 'unknown') ?? 'unknown';
      return told;
    },
    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      return ((await everywhere('reading', 'asked', ids)) as string[][]).flat();
    },
    async purge(olderThan) {
      const { completedMs, deadMs } = olderThan ?? state.retention;
      const counts = await everywhere('purging', 'purge', [`${completedMs}`, `${deadMs}`]);
      return (counts as number[]).reduce((sum, count) => sum + count, 0);
    },
  };
}
