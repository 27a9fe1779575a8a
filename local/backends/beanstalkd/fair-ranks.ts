/**
 * Fair shares between groups. beanstalkd knows no groups, so their turns are in the ranks, by start-time fair queueing: a job of a group
 * ranks a second after the one before it, and no earlier than what comes next out of its tube. So of a burst one job stands in each
 * second, and those of other groups stand beside it.
 *
 * The last rank of each group is known to the process that has sent it. Several senders each give a group a turn per second.
 */

import { infoOf } from './job-info.ts';
import { readyAtOf } from './rank.ts';
import { textOf } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

/** Ranks count seconds. */
const turnMs = 1_000;
const lookEveryMs = 1_000;
/** Of one tube. Beyond that those that came first are forgotten: their next job ranks as if none of them waited. */
const mostGroups = 10_000;
const mostTubes = 1_000;

interface Tube {
  lookedAt: number;
  /** What comes next out of it counts as ready since then, in epoch ms. */
  headAt: number;
  /** When the last job of each group counts as ready. */
  readonly lastAt: Map<string, number>;
  looking: Promise<void>;
}

export function createFairRanks({
  link,
  clock,
  ageingMs,
}: Pick<BeanstalkdState, 'link' | 'clock' | 'ageingMs'>) {
  const tubes = new Map<string, Tube>();

  /** Since when the next job of a tube counts as ready, and how many are. `null` = none is. */
  async function headOf(tube: string): Promise<{ readyAt: number; ready: number } | null> {
    const [stats, { word, number, data }] = await Promise.all([
      link.tubeStats(tube),
      link.send('peek-ready', { tube }),
    ]);
    const job = word === 'FOUND' ? await link.jobStats(number) : null;
    if (!stats || job?.state !== 'ready') return null;
    const level = infoOf(textOf(data!), number).priority;
    return { readyAt: readyAtOf(job.pri, level, ageingMs) ?? 0, ready: stats.ready };
  }

  async function lookAt(name: string, tube: Tube): Promise<void> {
    const head = await headOf(name);
    const { lastAt } = tube;
    tube.headAt = head?.readyAt ?? 0;
    if (!head) return lastAt.clear(); // nothing waits, and all begin anew
    // No group is further than if all that wait were its own: others may have sent them, or have emptied the tube meanwhile.
    const mostAt = head.readyAt + head.ready * turnMs;
    for (const [group, at] of lastAt) {
      if (at < head.readyAt) lastAt.delete(group);
      else if (at > mostAt) lastAt.set(group, mostAt);
    }
  }

  /** Asks the server at most once a second. What it does not answer is not needed: turns are approximate. */
  function look(name: string): Promise<void> {
    const now = clock.now();
    const tube = tubes.get(name) ?? {
      lookedAt: Number.NEGATIVE_INFINITY,
      headAt: 0,
      lastAt: new Map<string, number>(),
      looking: Promise.resolve(),
    };
    if (Math.abs(now - tube.lookedAt) >= lookEveryMs) {
      tube.lookedAt = now;
      tube.looking = lookAt(name, tube).catch(() => {});
    }
    if (tubes.size >= mostTubes && !tubes.has(name)) tubes.clear();
    tubes.set(name, tube);
    return tube.looking;
  }

  return {
    /** To be called before `next`, with the tubes of new jobs that have a group. */
    async look(names: ReadonlySet<string>): Promise<void> {
      await Promise.all([...names].map(look));
    },

    /** When a new job of the group counts as ready, in epoch ms. */
    next(name: string, group: string, now: number): number {
      const tube = tubes.get(name);
      if (!tube) return now;
      const { headAt, lastAt } = tube;
      const at = Math.max(now, headAt, (lastAt.get(group) ?? 0) + turnMs);
      if (lastAt.size >= mostGroups && !lastAt.has(group)) lastAt.delete(lastAt.keys().next().value!);
      lastAt.set(group, at);
      return at;
    },
  };
}
