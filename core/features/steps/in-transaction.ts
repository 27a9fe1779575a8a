/** A step that shares a transaction with what it writes. Loaded with the first of them. */

import { config } from '../../base/errors.ts';
import type { JobTransaction } from '../../contract/queue.ts';
import type { StepStore } from '../../contract/steps.ts';
import type { StepContext, TransactionStepContext } from '../../kernel/app/durable.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted } from '../../kernel/attempt/attempt.ts';
import { mayBegin } from '../../kernel/attempt/verdict.ts';
import type { RememberedStep, StepLog } from './log.ts';
import { ownSteps } from './own-steps.ts';
import { runSteps } from './run-steps.ts';

type Texts = (tx: JobTransaction['sql']) => StepStore;

/**
 * Resolves with what is remembered in the end; `null` = another attempt has the job, and all is undone. When the answer to the commit is lost, the
 * step fails and the next try finds what became of it.
 */
export async function inTransaction(
  it: Admitted,
  log: StepLog,
  given: StepContext,
  work: (step: TransactionStepContext) => unknown,
  done: (value: unknown) => RememberedStep,
): Promise<RememberedStep | null> {
  const { begin, within } = abilities(it);
  const { open } = runSteps(it.run);
  const beginning = begin();
  const tx = await answered(it, 'The database', beginning, it.job.timeoutMs).catch((error) => {
    beginning.then((late) => late.rollback()).catch(() => {}); // one that comes too late must not stay open
    throw error;
  });
  open.add(tx);
  try {
    mayBegin(it); // it may have waited long for a connection
    const step = done(await work({ ...given, tx: tx.sql }));
    return await log.putWith((write) => tx.commit(it.run.lease, (inside) => write(within(inside))), step);
  } finally {
    open.delete(tx);
    await tx.rollback(); // nothing, when it has committed
  }
}

function abilities(it: Admitted): { begin(): Promise<JobTransaction>; within: Texts } {
  const { ports, job } = it;
  const { backend, stores } = ports.client;
  const { begin } = backend;
  if (!begin)
    throw config(
      `A step of job "${job.name}" has transaction: true, but backend "${backend.name}" offers none. Run it on postgres().`,
    );
  const { steps } = stores;
  if (steps?.within && steps === backend.stores?.steps) return { begin, within: ownSteps(it).within! };
  throw config(
    `A step of job "${job.name}" has transaction: true, so the queue has to keep the steps itself, but connect() was given another store for them. Leave steps out of that store.`,
  );
}
