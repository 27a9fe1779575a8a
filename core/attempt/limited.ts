/** Limits over all workers. A job that is over one waits, and no attempt is spent. */

import type { Attempt, Step } from './attempt.ts';

/** With the first job that has limits. */
const load = () => import('../limits/gates.ts');

export const limited = {
  for: hasLimits,
  run: async (it, next) => (await load()).enter(it, next),
  settle: async (it, end, next) => (await load()).leave(it, end, next),
} satisfies Step;

function hasLimits({ job, refusal, app, run }: Attempt): boolean {
  if (job === null || refusal !== null) return false;
  if (run.waitsFor !== null || job.breaker !== null) return true;
  return job.limits !== null || (app.queueRules.get(run.lease.queue)?.limits ?? null) !== null;
}
