import type { PendingJobs, WaitingChange, WaitingJob } from '../../../core/contract/admin.ts';
import { checkBody } from '../../../core/kit/body-limit.ts';
import { reschedule } from '../../../core/kit/records/reschedule.ts';
import { GroupState } from '../shared/groups.ts';
import { type NarrowRow, replaceText } from './rows.ts';
import type { SqliteState } from './state.ts';

interface WaitingRow extends NarrowRow {
  readonly priority: number;
  readonly createdAt: number;
  readonly body: string;
}

export function sqliteWaiting(state: SqliteState, maxBodyBytes: number): PendingJobs {
  const { db, clock, narrowRows, ageingMs } = state;
  /** Finds a waiting job by its row in this table. */
  const waitingIn = (table: string, key: string) => `
    SELECT j.seq, j.queue, j.rank, j.ready_at AS readyAt, w.attempt, w.interrupted, j.priority, j.created_at AS createdAt, j.body
    FROM jobs j JOIN ${table} w ON w.seq = j.seq AND ${key}
    WHERE j.id = :id AND j.queue = :queue`;
  const find = db.prepare(`
    ${waitingIn('ready', 'w.queue = j.queue AND w.rank = j.rank')}
    UNION ALL ${waitingIn('delayed', 'w.queue = j.queue AND w.ready_at = j.ready_at')}
    UNION ALL ${waitingIn('grouped', `w.state = ${GroupState.inLine}`)}`);
  const move = db.prepare('UPDATE jobs SET priority = ?, ready_at = ?, rank = ? WHERE seq = ?');
  const replace = db.prepare(replaceText);
  const removeJob = db.prepare('DELETE FROM jobs WHERE seq = ?');
  const findOne = ({ queue, id }: WaitingJob) => find.get({ queue, id }) as unknown as WaitingRow | undefined;

  /** Inside a transaction. */
  function changeNow(job: WaitingJob, change: WaitingChange, now: number): boolean {
    const row = findOne(job);
    if (!row || row.body !== (change.expectedBody ?? row.body)) return false;
    const { priority, readyAt, rank } = reschedule(row, change, now, ageingMs);
    narrowRows.remove(row);
    narrowRows.groups.stepDown(row.seq);
    move.run(priority, readyAt, rank, row.seq);
    narrowRows.insert({ ...row, readyAt, rank }, now);
    const { body, facts } = change;
    if (body !== undefined) replace.run(body, facts ? JSON.stringify(facts) : null, row.seq);
    return true;
  }

  return {
    async change(jobs, change) {
      checkBody(change.body, maxBodyBytes);
      const now = clock.now();
      const changed = db.transaction('changing waiting jobs', () =>
        jobs.map((job) => changeNow(job, change, now)),
      );
      state.wake();
      return changed;
    },
    async remove(job) {
      return db.transaction('removing a job', () => {
        const row = findOne(job);
        if (!row) return false;
        narrowRows.remove(row);
        narrowRows.tellEnds([row.seq]);
        narrowRows.groups.end([row.seq], clock.now());
        return removeJob.run(row.seq).changes === 1;
      });
    },
    read: async (job) => db.run('reading a job', () => findOne(job))?.body ?? null,
  };
}
