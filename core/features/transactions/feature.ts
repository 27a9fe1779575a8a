/** A handler with its own transaction: it begins before the run, and the ack commits it. */

import { config } from '../../base/errors.ts';
import { noTransaction } from '../../kernel/app/job.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Step } from '../../kernel/attempt/attempt.ts';
import { ackOf } from '../../kernel/attempt/verdict.ts';
import type { Feature } from '../feature.ts';

export const transactional = {
  // A job of a chain gets one after it has run.
  for: ({ job, run }) => job?.transaction === true || run.tx !== null,

  async run(it, next) {
    const { run, job } = it;
    const { backend } = it.ports.client;
    // A backend that cannot begin has failed like one that cannot settle: the lease expires and the message comes back.
    if (!backend.begin) throw noTransaction(job, backend);
    const beginning = backend.begin();
    run.tx = await answered(it, 'The database', beginning, job.timeoutMs).catch((error) => {
      beginning.then((tx) => tx.rollback()).catch(() => {}); // a late transaction must not stay open
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

export const transactions = {
  needs: ({ jobs }, it) =>
    jobs.flatMap(({ name, transaction }) => {
      if (!transaction || it.transactions) return [];
      const text = `Job "${name}" has a transaction, but backend "${it.name}" offers none. Run it on postgres().`;
      return [{ of: `job "${name}"`, feature: 'transaction', text }];
    }),
  run: { transaction: transactional },
  end: { transaction: transactional },
  context: {
    tx: {
      of({ run, job }) {
        if (run.tx) return run.tx.sql;
        throw config(`Job "${job.name}" has no transaction. Define it with transaction: true.`);
      },
      isolated: { refuses: 'a transaction cannot leave its process' },
    },
  },
} satisfies Feature;
