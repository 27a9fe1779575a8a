/** A handler with a transaction of its own: it begins before the run, and the ack commits it. */

import { LongshoreError } from '../../base/errors.ts';
import { noTransaction } from '../app/job.ts';
import { answered } from './answered.ts';
import type { Admitted, Attempt, Step, Verdict } from './attempt.ts';
import { ackOf, afterFailure } from './verdict.ts';

export const transactional = {
  // A job of a chain gets one when it has run.
  for: ({ job, run }) => job?.transaction === true || run.tx !== null,

  async run(it, next) {
    const { run, job } = it;
    const { backend } = it.ports.client;
    // A backend that cannot begin has failed like one that cannot settle: the lease runs out and the message comes back.
    if (!backend.begin) throw noTransaction(job, backend);
    const beginning = backend.begin();
    run.tx = await answered(it, 'The database', beginning, job.timeoutMs).catch((error) => {
      beginning.then((tx) => tx.rollback()).catch(() => {}); // one that comes too late must not stay open
      throw error;
    });
    const verdict = await next();
    if (verdict.verb !== 'ack') await run.tx.rollback();
    return verdict;
  },

  settle(it, end, next) {
    const { tx } = it.run;
    if (!tx || end.verdict.verb !== 'ack') return next(end);
    return tx.ack(ackOf(it, end));
  },
} satisfies Step;

/** What the handler wrote could not be committed: nothing is settled, and the attempt has failed. Throws other errors. */
export function failedCommit(it: Attempt, error: unknown): Verdict {
  const isRefused = it.run.tx !== null && error instanceof LongshoreError && error.code === 'HANDLER';
  if (!isRefused) throw error;
  return afterFailure(it as Admitted, error);
}
