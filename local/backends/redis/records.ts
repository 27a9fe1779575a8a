import type { JobStatus } from '../../../core/contract/outcome.ts';
import type { CancelResult, JobRecord, RecordStore } from '../../../core/contract/store.ts';
import { type Found, leasedId, publicRecord, type Whole, wholeOf } from './rows.ts';
import { idOf } from './sort-key.ts';
import type { RedisState } from './state.ts';

/** The sorted sets of a queue, and how to read an id from a member of each. */
const sets = {
  ready: idOf,
  delayed: idOf,
  leases: leasedId,
  done: (id: string) => id,
  dead: (id: string) => id,
} as const;
type SetName = keyof typeof sets;
const waiting: readonly SetName[] = ['ready', 'delayed'];
const setsOf: Readonly<Record<JobStatus, readonly SetName[]>> = {
  pending: waiting,
  retrying: waiting,
  processing: ['leases'],
  completed: ['done'],
  cancelled: ['done'],
  failed: ['dead'],
  expired: ['dead'],
};

const pageSize = 200;
/** How far a list looks into each set. Jobs that a narrow filter matches may lie deeper, and are then not found. */
const deepest = 10_000;

/** By creation, the newest first. */
export const newestFirst = (a: Whole, b: Whole): number =>
  b.createdAt - a.createdAt || (a.arrival < b.arrival ? 1 : -1);

/** Those that can be read; the others are warned of. Bodies can be long: only `whole` brings them. */
export async function readJobs(
  state: RedisState,
  queue: string,
  ids: readonly string[],
  what: 'facts' | 'whole' = 'facts',
): Promise<Whole[]> {
  if (ids.length === 0) return [];
  const found = (await state.manage('reading', queue, what, ids)) as Found[];
  const unreadable: string[] = [];
  const jobs = found.flatMap((one, i) => {
    try {
      return wholeOf(queue, ids[i]!, one) ?? [];
    } catch {
      unreadable.push(ids[i]!);
      return [];
    }
  });
  if (unreadable.length > 0) state.warnUnreadable(queue, unreadable);
  return jobs;
}

export function redisRecords(state: RedisState): RecordStore {
  /** Asks every queue: an id does not say which one has the job. */
  async function everywhere(during: string, action: string, args: readonly string[]): Promise<unknown[]> {
    const queues = await state.queues();
    return Promise.all(queues.map((queue) => state.manage(during, queue, action, args)));
  }

  /** The matches of one set, from its end. */
  async function newestIn(
    queue: string,
    set: SetName,
    matches: (one: Whole) => boolean,
    max: number,
  ): Promise<Whole[]> {
    const chosen: Whole[] = [];
    for (let from = 0; from < deepest && chosen.length < max; from += pageSize) {
      const key = `${state.base(queue)}:${set}`;
      const range = ['ZRANGE', key, `${from}`, `${from + pageSize - 1}`, 'REV'];
      const members = (await state.link.send('listing', range)) as string[];
      const jobs = await readJobs(state, queue, members.map(sets[set]));
      chosen.push(...jobs.filter(matches));
      if (members.length < pageSize) break;
    }
    return chosen;
  }

  return {
    async get(id) {
      for (const queue of await state.queues()) {
        const [found] = (await state.manage('reading', queue, 'facts', [id])) as Found[];
        const whole = wholeOf(queue, id, found!);
        if (whole) return publicRecord(whole);
      }
      return null;
    },
    async list({ queue, job, status, max = 100 }): Promise<JobRecord[]> {
      const queues = queue === undefined ? await state.queues() : [queue];
      const names = status === undefined ? (Object.keys(sets) as SetName[]) : setsOf[status];
      const matches = (one: Whole) =>
        (job === undefined || one.job === job) && (status === undefined || one.status === status);
      const lists = await Promise.all(
        queues.flatMap((name) => names.map((set) => newestIn(name, set, matches, max))),
      );
      // A job that has changed its set meanwhile can be there twice.
      const byId = new Map(lists.flat().map((one) => [one.id, one]));
      return [...byId.values()].sort(newestFirst).slice(0, max).map(publicRecord);
    },
    async progress(id, token, progress) {
      const answers = await everywhere('writing progress', 'progress', [id, token, JSON.stringify(progress)]);
      return answers.includes(1);
    },
    async cancel(id) {
      const answers = (await everywhere('cancelling', 'cancel', [id])) as CancelResult[];
      return answers.find((answer) => answer !== 'unknown') ?? 'unknown';
    },
    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      return ((await everywhere('reading', 'cancelRequested', ids)) as string[][]).flat();
    },
    async purge(olderThan) {
      const { completedMs, deadMs } = olderThan ?? state.retention;
      const counts = await everywhere('purging', 'purge', [`${completedMs}`, `${deadMs}`]);
      return (counts as number[]).reduce((sum, count) => sum + count, 0);
    },
  };
}
