/** Limits over all workers, and pauses of jobs. A job that is over a limit or paused waits, and no attempt is spent. */

import { door } from '../../base/lazy.ts';
import type { Attempt, RunStep, Step } from '../../kernel/attempt/attempt.ts';
import type { Chore } from '../../kernel/worker/chores.ts';
import type { Feature } from '../feature.ts';
import { needsOfLimits } from './needs.ts';
import { isFresh, knownPaused, refreshed } from './paused-jobs.ts';

const gates = door(() => import('./gates.ts'));
const lines = door(() => import('./lines.ts'));
const pause = door(() => import('./pause.ts'));
const wake = door(() => import('./wake.ts'));

export const limited = {
  for: hasLimits,
  run: (it, next) => gates(({ enter }) => enter(it, next)),
  settle: (it, end, next) => gates(({ leave }) => leave(it, end, next)),
} satisfies Step;

function hasLimits({ job, refusal, app, run, envelope }: Attempt): boolean {
  if (job === null || refusal !== null) return false;
  if (run.waitsFor !== null || job.breaker !== null || envelope?.concurrency) return true;
  return job.limits !== null || app.queueRules.get(run.lease.queue)?.limits != null;
}

export const paused: RunStep = {
  for({ job, ports, startedAt }) {
    const known = knownPaused(ports.client);
    return known !== null && (known.names.has(job!.name) || !isFresh(known, startedAt));
  },

  run(it, next) {
    const known = knownPaused(it.ports.client)!;
    const decide = () => (known.names.has(it.job.name) ? pause(({ park }) => park(it, known, next)) : next());
    const reading = refreshed(it.ports.client, known, it.startedAt);
    return reading ? reading.then(decide) : decide();
  },
};

const waits = {
  everyMs: 5_000,
  followsLeases: true,
  for: ({ backend, stores }) => stores.limits !== undefined && backend.pending !== undefined,
} satisfies Partial<Chore>;

export const limits = {
  name: 'limits',
  needs: needsOfLimits,
  forget: async (client, ids) => lines(({ leaveLines }) => leaveLines(client, ids)),
  chores: [
    {
      ...waits,
      name: 'waking jobs at limits',
      scope: 'backend',
      load: ({ client }) => lines(({ lookingAtLines }) => lookingAtLines(client)),
    },
    {
      // They are known to this process alone, and none may be while the backend answers.
      ...waits,
      name: 'waking jobs at limits again',
      scope: 'worker',
      load: ({ client }) =>
        wake(
          ({ promoteOwed }) =>
            () =>
              promoteOwed(client),
        ),
    },
  ],
  run: { pause: paused, limit: limited },
  end: { limit: limited },
} satisfies Feature;
