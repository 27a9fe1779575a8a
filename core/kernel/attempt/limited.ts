/** Limits over all workers. A job that is over one waits, and no attempt is spent. */

import type { Attempt, Step } from './attempt.ts';

let gates: typeof import('../../features/limits/gates.ts') | null = null;

/** With the first job that has limits, and once: an import() costs more than the rest. */
const load = () =>
  import('../../features/limits/gates.ts').then((code) => {
    gates = code;
    return code;
  });

export const limited = {
  for: hasLimits,
  run: (it, next) => (gates ? gates.enter(it, next) : load().then(({ enter }) => enter(it, next))),
  settle: (it, end, next) =>
    gates ? gates.leave(it, end, next) : load().then(({ leave }) => leave(it, end, next)),
} satisfies Step;

function hasLimits({ job, refusal, app, run, envelope }: Attempt): boolean {
  if (job === null || refusal !== null) return false;
  if (run.waitsFor !== null || job.breaker !== null || envelope?.concurrency) return true;
  return job.limits !== null || app.queueRules.get(run.lease.queue)?.limits != null;
}
