/** The steps of moving jobs: at the goal before a job is, and away from the origin after it. */

import { LongshoreError } from '../../core/base/errors.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import { copySteps, dropCopy, hasLog, leaveSteps } from '../../core/features/steps/move.ts';
import { sealedSteps } from '../../core/features/steps/seal.ts';
import type { App } from '../../core/kernel/app/app.ts';
import { forEach } from '../../core/kit/parallel.ts';
import type { MovedJob } from './contract.ts';

export type StepCarrier = NonNullable<ReturnType<typeof stepCarrier>>;

/** `null` = the origin keeps no steps itself, so there are none to carry. */
export function stepCarrier(from: QueueBackend, goal: QueueBackend, signing: Pick<App, 'keyRing' | 'clock'>) {
  const { clock } = signing;
  const kept = from.stores?.steps;
  if (!kept) return null;
  const origin = sealedSteps(kept, signing);
  const to = goal.stores?.steps && sealedSteps(goal.stores.steps, signing);
  /** Of the jobs in hand. */
  const carried = new Set<string>();
  const each = async (jobs: readonly MovedJob[], work: (job: MovedJob) => Promise<void>): Promise<void> =>
    forEach(jobs.values(), work);
  return {
    /** Before the jobs are put. Resolves with those whose steps cannot come along, and why: they must stay. */
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
    /** The jobs are at the goal, and gone at the origin. Resolves with how many had steps. */
    async leave(jobs: readonly MovedJob[]): Promise<number> {
      const ours = jobs.filter(({ message }) => carried.delete(message.id));
      await each(ours, async ({ message: { id, queue } }) => {
        if (await leaveSteps(origin, to!, clock, id))
          await goal.pending?.change([{ id, queue }], { notBefore: null });
      });
      return ours.length;
    },
    /** They stay at the origin. */
    async drop(jobs: readonly MovedJob[]): Promise<void> {
      const ours = jobs.filter(({ message }) => carried.delete(message.id));
      await each(ours, ({ message }) => dropCopy(to!, message.id));
    },
  };
}

/** What the steps of one job do not verify by, or for want of a key. */
const unsigned: readonly string[] = ['SIGNATURE', 'UNKNOWN_KEY', 'CONFIG'];

const cannotKeep = (goal: QueueBackend): string =>
  `OPTION: It remembers steps, and ${goal.name} keeps none: they would be done again. Let it end here.`;
