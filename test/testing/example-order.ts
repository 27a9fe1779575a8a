/** The order in which the example leases its jobs. In each group only one waiting job, the head, may be leased. The others wait in line. */

import { byTurn, isReady, isWaiting, type KeptJob } from '../../core/kit/in-memory/job.ts';
import { createJobTable, type TableSettings } from '../../core/kit/in-memory/table.ts';
import { mostAheadMs } from '../../local/backends/shared/groups.ts';

interface Group {
  /** Ready, or delayed while the others wait for its retry. */
  head: KeptJob | null;
  lastPlace: number;
  /** When the last head counted as ready. */
  lastReadyAt: number;
}

/** @param wake lets waiting fetches look again */
export function exampleJobs(settings: TableSettings, wake: () => void) {
  const { clock, ageingMs } = settings;
  const groups = new Map<string, Group>();

  const all = (): KeptJob[] => [...table.jobs.values()];
  const weightOf = ({ message }: KeptJob): number => message.priority * ageingMs;
  const isGrouped = ({ message }: KeptJob): boolean => message.group !== null;
  const nameOf = ({ message }: KeptJob): string => JSON.stringify([message.queue, message.group]);

  function groupOf(job: KeptJob): Group {
    const name = nameOf(job);
    const group = groups.get(name) ?? { head: null, lastPlace: 0, lastReadyAt: 0 };
    groups.set(name, group);
    return group;
  }

  /** Puts a ready job into the line of its group. Its place there never changes. */
  function join(job: KeptJob): void {
    const group = groupOf(job);
    const isOrdered = job.message.order !== undefined;
    job.place ??= isOrdered ? Math.max(job.readyAt, group.lastPlace + 1) : job.readyAt + weightOf(job);
    group.lastPlace = Math.max(group.lastPlace, job.place);
    job.inLine = true;
  }

  /** Puts jobs that have become ready into line, and gives a head to each group that has none. */
  function advance(): void {
    const now = clock.now();
    const due = all().filter((job) => job.state === 'delayed' && job.readyAt <= now);
    for (const job of due.sort((a, b) => a.readyAt - b.readyAt || a.seq - b.seq)) {
      job.state = 'ready';
      if (isGrouped(job) && groupOf(job).head !== job) join(job);
    }
    const members = Map.groupBy(
      all().filter((job) => isGrouped(job) && job.finishedAt === null),
      nameOf,
    );
    for (const [name, group] of groups) {
      if (members.has(name)) chooseHead(group, members.get(name)!);
      else groups.delete(name);
    }
  }

  function chooseHead(group: Group, members: readonly KeptJob[]): void {
    if (group.head && members.includes(group.head) && isWaiting(group.head)) return;
    group.head = null;
    const isLeased = members.some(({ state }) => state === 'leased');
    const [next] = members.filter(({ inLine }) => inLine).sort(byTurn);
    if (!next || (isLeased && next.message.order)) return;
    // Later than the previous head, so that groups take turns within a millisecond, too.
    const now = clock.now();
    group.lastReadyAt = Math.min(now + mostAheadMs, Math.max(now, group.lastReadyAt + 1));
    group.head = next;
    next.inLine = false;
    next.rank = group.lastReadyAt + weightOf(next);
  }

  function changed(): void {
    advance();
    wake();
  }

  const table = createJobTable(settings, {
    queue(job, readyAt, rank) {
      const wasLeased = job.state === 'leased';
      const state = readyAt > clock.now() ? 'delayed' : 'ready';
      if (isGrouped(job)) {
        const group = groupOf(job);
        const mayWait = state === 'delayed' && job.place !== null && job.message.order === 'wait';
        if (group.head === job && state === 'delayed' && !mayWait) group.head = null;
        if (wasLeased && mayWait && !(group.head && isWaiting(group.head))) group.head = job;
      }
      Object.assign(job, { readyAt, rank, state, inLine: false });
      if (state === 'ready' && isGrouped(job) && groupOf(job).head !== job) join(job);
      changed();
    },
    leased: changed,
    left: changed,
    wake,
  });

  return {
    table,
    /** The next job of these queues; `undefined` = none is ready. */
    next(queues: readonly string[]): KeptJob | undefined {
      advance();
      const isWanted = (job: KeptJob): boolean =>
        job.state === 'ready' &&
        !job.inLine &&
        queues.includes(job.message.queue) &&
        !table.paused.has(job.message.queue);
      return all()
        .filter(isWanted)
        .sort((a, b) => a.rank - b.rank || a.seq - b.seq)[0];
    },
    /** When the next delayed job becomes ready. */
    nextReadyAt: (): number =>
      Math.min(
        ...all()
          .filter((job) => isWaiting(job) && !isReady(job, clock.now()))
          .map(({ readyAt }) => readyAt),
      ),
  };
}
