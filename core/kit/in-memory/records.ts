/** The records of a queue in memory: they are its jobs. */

import { steadyNow } from '../../base/clock.ts';
import type { RecordFilter, RecordPage, RecordStore } from '../../contract/store.ts';
import { cursorOf, matches, positionIn } from '../records/filter.ts';
import { isDead, isOver, type KeptJob, recordOf } from './job.ts';
import type { JobTable } from './table.ts';

/** @param purgeOthers removes expired keys and texts, and returns how many */
export function recordsOf(table: JobTable, purgeOthers: () => number): RecordStore {
  const { jobs, clock, retention, finish, ends } = table;

  function page({ after, max = 100, ...filter }: RecordFilter & { readonly after?: string }): RecordPage {
    const [before] = after === undefined ? [Infinity] : positionIn(after, 'number');
    const found: KeptJob[] = [];
    if (max < 1) return { records: [], next: null };
    for (const job of [...jobs.values()].sort((a, b) => b.seq - a.seq)) {
      if (job.seq >= before || !matches(recordOf(job), filter)) continue;
      if (found.length === max) return { records: found.map(recordOf), next: cursorOf(found[max - 1]!.seq) };
      found.push(job);
    }
    return { records: found.map(recordOf), next: null };
  }

  return {
    async get(id) {
      const job = jobs.get(id);
      return job ? recordOf(job) : null;
    },
    page: async (query) => page(query),
    async body(id) {
      const job = jobs.get(id);
      return job && (job.keepsBody || !isOver(job)) ? job.message.body : null;
    },
    async progress(id, token, progress) {
      const job = jobs.get(id);
      if (job?.state !== 'leased' || job.token !== token || job.leaseUntil <= steadyNow(clock)) return false;
      job.progress = progress;
      return true;
    },
    async cancel(id) {
      const job = jobs.get(id);
      if (!job) return 'unknown';
      if (job.finishedAt !== null) return 'finished';
      if (job.state === 'leased') {
        job.cancelRequested = true;
        return 'cancelling';
      }
      finish(job, 'cancelled', null);
      return 'cancelled';
    },
    watchEnd: ({ id }, look) => ({ hears: true, stop: ends.add(id, look) }),
    async cancelRequested(ids) {
      return ids.filter((id) => {
        const job = jobs.get(id);
        return job?.state === 'leased' && job.cancelRequested;
      });
    },
    async purge(olderThan = retention) {
      const now = clock.now();
      let count = purgeOthers();
      for (const [id, job] of jobs) {
        if (job.finishedAt === null) continue;
        const which = isDead(job) ? 'deadMs' : 'completedMs';
        const ownMs = job.keepMs === null ? 0 : job.keepMs - retention[which];
        if (job.finishedAt + olderThan[which] + ownMs > now) continue;
        jobs.delete(id);
        count++;
      }
      return count;
    },
  };
}
