/** A paused job waits until it is resumed, and no attempt is spent. */

import { isFresh, knownPaused, type PausedJobs, refreshed } from '../../features/limits/paused-jobs.ts';
import type { Admitted, Maybe, RunStep, Verdict } from './attempt.ts';

export const paused: RunStep = {
  for({ job, ports, startedAt }) {
    const known = knownPaused(ports.client);
    return known !== null && (known.names.has(job!.name) || !isFresh(known, startedAt));
  },

  run(it, next) {
    const known = knownPaused(it.ports.client)!;
    const reading = refreshed(it.ports.client, known, it.startedAt);
    return reading ? reading.then(() => decide(it, known, next)) : decide(it, known, next);
  },
};

function decide(it: Admitted, known: PausedJobs, next: () => Maybe<Verdict>): Maybe<Verdict> {
  if (!known.names.has(it.job.name)) return next();
  // With the first job that is paused.
  return import('../../features/limits/pause.ts').then(({ park }) => park(it, known, next));
}
