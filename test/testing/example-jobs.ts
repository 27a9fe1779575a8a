/** The jobs of the example: their state, and the order in which they are leased. */

import type { Clock } from '../../core/base/clock.ts';
import type { JobLease, OutgoingMessage } from '../../core/contract/queue.ts';
import type { Retention } from '../../core/contract/store.ts';
import { createEndWatchers } from '../../core/kit/records/end-watchers.ts';
import { newRow } from '../../core/kit/records/row.ts';
import { isShown } from '../../core/kit/records/store.ts';
import { type Recorded, versions } from './example-store.ts';

export interface Job extends Recorded {
  readonly message: OutgoingMessage;
  readonly readyAt: number;
  /** The lowest rank is leased first. */
  readonly rank: number;
  /** Whether it may be leased when it is ready. Within a group only the head may; the others queue behind it. */
  readonly stands: boolean;
  /** Place in the line of its group, which never changes; `null` = it has not been ready yet. */
  readonly place: number | null;
  readonly interrupted: boolean;
  /** `null` = it is not leased. */
  readonly lease: { readonly token: string; readonly until: number } | null;
}

/** One priority level equals an hour of waiting, so that no job starves. */
export const ageingMs = 3_600_000;
export const maxBodyBytes = 1_048_576;
/** The token of jobs that are held for a move. No fetch makes this token. */
export const held = '~move';

export type ExampleJobs = ReturnType<typeof createJobs>;

export function createJobs(clock: Clock, keep: Retention) {
  const jobs = versions<Job>();
  const queues = new Set<string>();
  const paused = new Set<string>();
  /** By group: the last place in its line, and when its last head counted as ready. */
  const lines = new Map<string, { readonly place: number; readonly readyAt: number }>();
  const ends = createEndWatchers();
  const waiting = new Set<() => void>();
  let seq = 0;

  const wake = (): void => {
    for (const end of [...waiting]) end();
  };
  const all = (): Job[] => jobs.all().map(([, { row }]) => row);
  const find = (id: string): Job | null => jobs.get(id)?.row ?? null;
  const groupOf = ({ message: { queue, group } }: Job) =>
    group === null ? null : JSON.stringify([queue, group]);
  const isWaiting = ({ lease, record }: Job): boolean => lease === null && record.finishedAt === null;
  const isReady = ({ readyAt }: Job): boolean => readyAt <= clock.now();
  const weightOf = ({ priority }: OutgoingMessage): number => priority * ageingMs;
  /** The job of a valid lease. Every settle method begins with this, because a stale token must change nothing. */
  const owned = ({ token }: Pick<JobLease, 'token'>): Job | undefined =>
    all().find(({ lease }) => lease?.token === token && lease.until > clock.now());

  /** Stores every change of a job. A job that has ended leaves the queue, and the next job of its group may become the head. */
  function put(job: Job): void {
    const { id } = job.message;
    jobs.put(id, job.record.finishedAt === null ? job : { ...job, lease: null, stands: false });
    const past = { ended: clock.now() - keep.completedMs, dead: clock.now() - keep.deadMs };
    if (!isShown(job.record, past)) jobs.remove(id);
    comeForward();
    if (job.record.finishedAt !== null) ends.tell(id);
    wake();
  }

  function drop(gone: readonly Job[]): void {
    for (const { message } of gone) jobs.remove(message.id);
    comeForward();
    for (const { message } of gone) ends.tell(message.id);
    wake();
  }

  /** Adds ready jobs of groups to their lines, and gives a head to each line that has none. */
  function comeForward(): void {
    const grouped = all().filter((job) => groupOf(job) !== null && job.record.finishedAt === null);
    const joining = grouped.filter((job) => isWaiting(job) && isReady(job) && job.place === null);
    for (const job of joining.sort((a, b) => a.readyAt - b.readyAt || a.seq - b.seq)) {
      const line = lines.get(groupOf(job)!) ?? { place: 0, readyAt: 0 };
      const place = job.message.order
        ? Math.max(job.readyAt, line.place + 1)
        : job.readyAt + weightOf(job.message);
      lines.set(groupOf(job)!, { ...line, place: Math.max(line.place, place) });
      jobs.put(job.message.id, { ...job, place });
    }
    for (const [name, members] of Map.groupBy(
      all().filter((job) => groupOf(job) !== null),
      groupOf,
    )) {
      if (members.some((job) => isWaiting(job) && job.stands)) continue;
      const isTaken = members.some(({ lease }) => lease !== null);
      const [next] = members.filter((job) => isWaiting(job) && isReady(job)).sort(inLine);
      if (!next && !isTaken) lines.delete(name!);
      if (!next || (isTaken && next.message.order)) continue;
      // Later than the previous head, so that groups also take turns within a millisecond.
      const line = lines.get(name!) ?? { place: next.place!, readyAt: 0 };
      const readyAt = Math.min(clock.now() + 1_000, Math.max(clock.now(), line.readyAt + 1));
      lines.set(name!, { ...line, readyAt });
      jobs.put(next.message.id, { ...next, stands: true, rank: readyAt + weightOf(next.message) });
    }
  }

  /** Makes the job wait until `readyAt`. If the others of its group wait for its retry, it stays the head meanwhile. */
  function queue(job: Job, readyAt: number, rank = readyAt + weightOf(job.message)): void {
    const group = groupOf(job);
    const wasHead = isWaiting(job) && job.stands;
    const hasHead = all().some(
      (other) => other.seq !== job.seq && groupOf(other) === group && isWaiting(other) && other.stands,
    );
    const isAwaited =
      (wasHead || job.lease !== null) && job.place !== null && job.message.order === 'wait' && !hasHead;
    const stands = group === null || (readyAt > clock.now() ? isAwaited : wasHead);
    put({ ...job, readyAt, rank, stands, lease: null });
  }

  /** The waiting jobs in the order in which they will be leased. */
  function listWaiting(name: string): Job[] {
    comeForward();
    const found = all().filter((job) => job.message.queue === name && isWaiting(job));
    const ready = found.filter(isReady);
    return [
      ...ready.filter(({ stands }) => stands).sort(byRank),
      ...ready.filter(({ stands }) => !stands).sort(inLine),
      ...found.filter((job) => !isReady(job)).sort((a, b) => a.readyAt - b.readyAt),
    ];
  }

  function newJob(message: OutgoingMessage, readyAt: number): Job {
    const { body, facts, id, queue, job, priority, tenantId } = message;
    const told = { id, queue, job, priority, tenantId, body, createdAt: clock.now(), runAt: readyAt };
    const record = newRow({ ...told, ...(facts && { facts }) });
    const rest = { interrupted: false, lease: null, place: null, stands: false };
    return { seq: ++seq, message, record, readyAt, rank: readyAt + weightOf(message), ...rest };
  }

  return {
    ...{ jobs, queues, paused, ends, waiting, all, find, put, drop, queue, newJob, wake, owned },
    ...{ groupOf, isWaiting, isReady, comeForward, listWaiting },
  };
}

export const byRank = (a: Job, b: Job): number => a.rank - b.rank || a.seq - b.seq;
const inLine = (a: Job, b: Job): number => a.place! - b.place! || a.seq - b.seq;
