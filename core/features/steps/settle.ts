/** Keeps, moves or removes a job's steps when an attempt is settled. */

import { backendError } from '../../base/failure.ts';
import { attemptFacts } from '../../kernel/attempt/announce.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted, Attempt, End, Maybe } from '../../kernel/attempt/attempt.ts';
import { endsForGood } from '../../kernel/attempt/verdict.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { StepLog } from './log.ts';
import { type RunSteps, runSteps } from './run-steps.ts';
import { isOpen, isWait, nameOfJob, swapLog } from './stored.ts';

export async function leave(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Promise<boolean> {
  const settled = await next(end);
  if (!settled) return false;
  const steps = runSteps(it.run);
  const work = async () => {
    if (steps.refused) return; // for inspection
    const log = await steps.log;
    if (log === null) return;
    if (end.verdict.verb === 'ack') tellUnknown(it, steps, log);
    // A dead letter keeps its steps for a retry.
    if (endsForGood(it, end.verdict)) await log.forget();
    else if (steps.parked?.forEvent) await lookAgain(it as Admitted, log);
  };
  // A leftover text expires, and a job that was not woken checks by itself.
  await answered(it, 'The step store', work()).catch((cause) => {
    const during = 'ending the steps of a job';
    const { name: backend } = it.ports.client.backend;
    it.app.events.emit({ type: 'backend.failed', backend, during, error: backendError(during, cause) });
  });
  return true;
}

/** An event emitted before this job was back in its queue could not wake it. */
async function lookAgain({ ports, envelope, app }: Admitted, log: StepLog): Promise<void> {
  const before = new Set(log.steps.filter((step) => isOpen(step, app.clock.now())).map(({ name }) => name));
  const steps = await log.look();
  if (!steps.some((step) => before.has(step.name) && isWait(step) && step.got)) return;
  const { identifier: id, queue } = envelope;
  await ports.client.backend.pending?.change([{ queue, id }], { notBefore: null });
}

function tellUnknown(it: Attempt, { names }: RunSteps, log: StepLog): void {
  const unknown = log.steps.map(({ name }) => name).filter((name) => !names.has(name));
  if (unknown.length === 0) return;
  const shown = unknown.slice(0, 5).map((name) => JSON.stringify(name));
  const more = unknown.length > shown.length ? ` and ${unknown.length - shown.length} more` : '';
  it.app.events.emit({
    type: 'job.warning',
    ...attemptFacts(it),
    message: `The job has ended without the steps ${shown.join(', ')}${more}, which an earlier attempt had done: another release has renamed or removed them.`,
  });
}

/** Whether an attempt of the job has begun a step. */
export async function hasSteps({ ports, envelope }: Admitted): Promise<boolean> {
  return (await ports.client.stores.steps!.read(nameOfJob(envelope.identifier))) !== null;
}

export async function forgetSteps(
  { app, backend, stores }: Pick<Client, 'app' | 'backend' | 'stores'>,
  id: string,
): Promise<void> {
  await swapLog(stores.steps!, app.clock, id, undefined, (log) => ({
    answer: undefined,
    ...(log !== null && { log: null }),
  })).catch((cause) => {
    const during = 'forgetting the steps of a job';
    const error = backendError(during, cause);
    app.events.emit({ type: 'backend.failed', backend: backend.name, during, error });
  });
}
