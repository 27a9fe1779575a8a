/** The steps of moving jobs: at the goal before a job is, and away from the origin after it. */

import type { Clock } from '../../core/base/clock.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import { forEach } from '../../core/kit/parallel.ts';
import { copySteps, dropCopy, hasLog, leaveSteps } from '../../core/steps/moved.ts';
import type { MovedJob } from './contract.ts';

export interface StepCarrier {
  /** Before the jobs are put. Resolves with those that remember steps which the goal cannot keep: they must stay. */
  bring(jobs: readonly MovedJob[]): Promise<ReadonlySet<MovedJob>>;
  /** The jobs are at the goal, and gone at the origin. Resolves with how many had steps. */
  leave(jobs: readonly MovedJob[]): Promise<number>;
  /** They stay at the origin. */
  drop(jobs: readonly MovedJob[]): Promise<void>;
}

/** `null` = the origin keeps no steps itself, so there are none to carry. */
export function stepCarrier(from: QueueBackend, goal: QueueBackend, clock: Clock): StepCarrier | null {
  const [origin, to] = [from.stores?.steps, goal.stores?.steps];
  if (!origin) return null;
  /** Of the jobs in hand. */
  const carried = new Set<string>();
  const each = async (jobs: readonly MovedJob[], work: (job: MovedJob) => Promise<void>): Promise<void> =>
    forEach(jobs.values(), work);
  return {
    async bring(jobs) {
      const stay = new Set<MovedJob>();
      await each(jobs, async (job) => {
        const { message } = job;
        if (!to) {
          if (await hasLog(origin, message.id)) stay.add(job);
        } else if (await copySteps(origin, to, clock, message)) carried.add(message.id);
      });
      return stay;
    },
    async leave(jobs) {
      const ours = jobs.filter(({ message }) => carried.delete(message.id));
      await each(ours, async ({ message: { id, queue } }) => {
        if (await leaveSteps(origin, to!, clock, id)) await goal.waiting?.promote([{ id, queue }]);
      });
      return ours.length;
    },
    async drop(jobs) {
      const ours = jobs.filter(({ message }) => carried.delete(message.id));
      await each(ours, ({ message }) => dropCopy(to!, message.id));
    },
  };
}

export const cannotKeep = (goal: QueueBackend): string =>
  `OPTION: It remembers steps, and ${goal.name} keeps none: they would be done again. Let it end here.`;
