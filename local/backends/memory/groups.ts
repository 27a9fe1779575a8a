/** Only the first job of each group, the head, is in the ready list of its queue. The others wait in line behind it. */

import { isWaiting, type KeptJob } from '../../../core/kit/in-memory/job.ts';
import { mostAheadMs } from '../shared/groups.ts';
import { createHeap } from './heap.ts';

interface Group {
  readonly line: ReturnType<typeof createHeap<Lined>>;
  readonly leased: Set<KeptJob>;
  /** Ready, or delayed while the others wait for its retry. */
  head: KeptJob | null;
  lastPlace: number;
  /** When the last head counted as ready. */
  lastReadyAt: number;
}

/** A stale item stays in the heap after its job has left the line: it differs from `job.item`. */
interface Lined {
  readonly job: KeptJob;
  readonly place: number;
}

const isFirst = (a: Lined, b: Lined): boolean =>
  a.place !== b.place ? a.place < b.place : a.job.seq < b.job.seq;

export type Groups = ReturnType<typeof createGroups>;

/** @param stand puts the head of a group into the ready list, ranked as if it had become ready at `readyAt` */
export function createGroups(ageingMs: number, stand: (head: KeptJob, readyAt: number) => void) {
  const groups = new Map<string, Group>();
  const nameOf = ({ message }: KeptJob): string => JSON.stringify([message.queue, message.group]);

  function groupOf(job: KeptJob): Group {
    const name = nameOf(job);
    let group = groups.get(name);
    if (!group) {
      group = { line: createHeap(isFirst), leased: new Set(), head: null, lastPlace: 0, lastReadyAt: 0 };
      groups.set(name, group);
    }
    return group;
  }

  function firstInLine({ line }: Group): KeptJob | null {
    for (let next = line.peek(); next; next = line.peek()) {
      if (next.job.inLine && next.job.item === next) return next.job;
      line.pop();
    }
    return null;
  }

  /** Makes the next job of the group its head, if it may run. */
  function advance(job: KeptJob, now: number): void {
    const group = groups.get(nameOf(job));
    if (!group || (group.head && isWaiting(group.head))) return;
    group.head = null;
    for (const one of group.leased) if (one.state !== 'leased') group.leased.delete(one);
    const next = firstInLine(group);
    if (!next) {
      if (group.leased.size === 0) groups.delete(nameOf(job));
    } else if (!next.message.order || group.leased.size === 0) {
      next.inLine = false;
      group.head = next;
      group.lastReadyAt = Math.min(now + mostAheadMs, Math.max(now, group.lastReadyAt + 1));
      stand(next, group.lastReadyAt);
    }
  }

  return {
    advance,
    /** Puts a ready job into the line of its group, at its old place if it has one. */
    join(job: KeptJob, now: number): void {
      const group = groupOf(job);
      const { priority, order } = job.message;
      job.place ??= order ? Math.max(job.readyAt, group.lastPlace + 1) : job.readyAt + priority * ageingMs;
      group.lastPlace = Math.max(group.lastPlace, job.place);
      const item = { job, place: job.place };
      job.item = item;
      job.inLine = true;
      group.line.push(item);
      advance(job, now);
    },
    /**
     * Delays a job. If the order makes the others wait for its retry, it becomes the head meanwhile.
     * @param mayHold the job was leased or the head. The others do not wait for a job that was delayed in line
     */
    delay(job: KeptJob, now: number, mayHold: boolean): void {
      const group = groups.get(nameOf(job));
      if (mayHold && group?.head === job) group.head = null;
      const isFree = group && !(group.head && isWaiting(group.head));
      if (mayHold && isFree && job.place !== null && job.message.order === 'wait') group.head = job;
      advance(job, now);
    },
    isHead: (job: KeptJob): boolean => groups.get(nameOf(job))?.head === job,
    /** Records that a job is leased or held. */
    lease(job: KeptJob, now: number): void {
      const group = groupOf(job);
      group.leased.add(job);
      if (group.head === job) group.head = null;
      advance(job, now);
    },
  };
}
