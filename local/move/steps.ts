/** Moves the steps of jobs: copied to the goal before a job, and deleted at the origin after it. */

import { LongshoreError } from '../../core/base/errors.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import { copySteps, dropCopy, hasLog, leaveSteps } from '../../core/features/steps/move.ts';
import { sealedSteps } from '../../core/features/steps/seal.ts';
import type { App } from '../../core/kernel/app/app.ts';
import { forEach } from '../../core/kit/parallel.ts';
import type { MovedJob } from './contract.ts';

export type StepCarrier = NonNullable<ReturnType<typeof stepCarrier>>;

/** `null` = the origin has no steps of its own. */
export function stepCarrier(from: QueueBackend, goal: QueueBackend, signing: Pick<App, 'keyRing' | 'clock'>) {
  const { clock } = signing;
  const kept = from.stores?.steps;
  if (!kept) return null;
  const origin = sealedSteps(kept, signing);
  const to = goal.stores?.steps && sealedSteps(goal.stores.steps, signing);
  /** Ids of current jobs whose steps were copied. */
  const carried = new Set<string>();
  const each = async (jobs: readonly MovedJob[], work: (job: MovedJob) => Promise<void>): Promise<void> =>
    forEach(jobs.values(), work);
  return {
    /** Copies steps before the jobs are put. Resolves with the jobs that must stay because their steps cannot move, and why. */
    async bring(jobs: readonly MovedJob[]): Promise<ReadonlyMap<MovedJob, string>> {
      const stay = new Map<MovedJob, string>();
      await each(jobs, async (job) => {
        const { message } = job;
        if (!(await hasLog(kept, message.id))) return;
        if (!to) return void stay.set(job, cannotKeep(goal));
        try {
          if (await copySteps(origin, to, clock, message)) carried.add(message.id);
        } catch (error) {
          if (!(error instanceof LongshoreError) || !unsigned.includes(error.code)) throw error;
          stay.set(job, `${error.code}: ${error.message}`);
        }
      });
      return stay;
    },
    /** Deletes steps at the origin after the jobs have moved. Resolves with the number of jobs that had steps. */
    async leave(jobs: readonly MovedJob[]): Promise<number> {
      const ours = jobs.filter(({ message }) => carried.delete(message.id));
      await each(ours, async ({ message: { id, queue } }) => {
        if (await leaveSteps(origin, to!, clock, id))
          await goal.pending?.change([{ id, queue }], { notBefore: null });
      });
      return ours.length;
    },
    /** Deletes the copies for jobs that stay at the origin. */
    async drop(jobs: readonly MovedJob[]): Promise<void> {
      const ours = jobs.filter(({ message }) => carried.delete(message.id));
      await each(ours, ({ message }) => dropCopy(to!, clock, message.id));
    },
  };
}

/** Errors when the steps of one job cannot be verified or signed. */
const unsigned: readonly string[] = ['SIGNATURE', 'UNKNOWN_KEY', 'CONFIG'];

const cannotKeep = (goal: QueueBackend): string =>
  `OPTION: The job has stored steps, which ${goal.name} cannot keep, so they would run again. Let it end at the source.`;
