/**
 * The whole life of a job, top to bottom:
 * enqueue → sign → send (enqueue/enqueue.ts and send.ts); then, for every lease:
 * verify → admit → load the payload → check it → run ONE attempt → settle.
 *
 * Work that only some attempts need is a step, which runs around the run, around the end, or both. An attempt passes through the
 * steps that it needs, in the order of their list.
 */

import { errorText } from '../base/failure.ts';
import type { Ack } from '../contract/queue.ts';
import type { App } from './app/app.ts';
import { validate } from './app/schema.ts';
import { admit } from './attempt/admit.ts';
import { announceEnd, announceStart } from './attempt/announce.ts';
import { answered } from './attempt/answered.ts';
import {
  type Admitted,
  type Attempt,
  type AttemptPorts,
  type AttemptResult,
  type End,
  type EndStep,
  type Maybe,
  type RunStep,
  stepsOf,
  type Verdict,
} from './attempt/attempt.ts';
import { execute } from './attempt/execute.ts';
import type { Run } from './attempt/run.ts';
import { ackOf, endOf, failedCommit, keptOf, lostLease, resultOf, unfit } from './attempt/verdict.ts';

/**
 * Runs one attempt of a lease and settles it. Rejects only if the backend or a store failed. Then nothing was settled: the lease
 * runs out and the message comes back.
 */
export async function attempt(
  app: App,
  ports: AttemptPorts,
  run: Run,
  startedAt: number = app.clock.now(),
): Promise<AttemptResult> {
  const it = admit(app, ports, run, startedAt);
  const running = it.refusal ?? lostLease(it) ?? through(stepsOf(app).beforeTheCheck, it as Admitted, check);
  const verdict = running instanceof Promise ? await running : running;
  let end = endOf(it, verdict);
  ports.handled?.(run);
  let settled: boolean;
  try {
    settled = await settle(it, end);
  } catch (error) {
    end = endOf(it, failedCommit(it, error));
    settled = await settle(it, end);
  }
  const result = resultOf(it, end, settled);
  announceEnd(it, result, end);
  return result;
}

function check(it: Admitted): Maybe<Verdict> {
  let payload: unknown;
  try {
    payload = validate(it.job.schema, it.envelope.payload, it.job.name);
  } catch (error) {
    return unfit(it, error);
  }
  if (!(payload instanceof Promise)) return runValid(it, payload);
  return answered(it, 'The schema', payload, it.job.timeoutMs).then(
    (valid) => lostLease(it) ?? runValid(it, valid),
    (error) => unfit(it, error),
  );
}

function runValid(it: Admitted, payload: unknown): Maybe<Verdict> {
  it.payload = payload;
  return through(stepsOf(it.app).aroundTheRun, it, start);
}

function start(it: Admitted): Maybe<Verdict> {
  if (it.app.events.active) announceStart(it);
  return execute(it);
}

/** Runs the steps that this attempt needs, and then `last`. */
function through(
  steps: readonly RunStep[],
  it: Admitted,
  last: (it: Admitted) => Maybe<Verdict>,
  from = 0,
): Maybe<Verdict> {
  for (let i = from; i < steps.length; i++) {
    if (steps[i]!.for(it)) return runIn(steps, i, it, last);
  }
  return last(it);
}

// Stops if the lease was lost during a wait. A separate function, because closures in the loop would cost every attempt their
// scopes, even if no step is needed.
function runIn(
  steps: readonly RunStep[],
  i: number,
  it: Admitted,
  last: (it: Admitted) => Maybe<Verdict>,
): Maybe<Verdict> {
  return steps[i]!.run(it, () => lostLease(it) ?? through(steps, it, last, i + 1));
}

/** Resolves with `false` if nothing was settled. After a lost lease the steps are not called either, because they must change nothing. */
function settle(it: Attempt, end: End, from = 0): Maybe<boolean> {
  if (end.verdict.verb === 'nothing') return false;
  const { aroundTheEnd } = stepsOf(it.app);
  for (let i = from; i < aroundTheEnd.length; i++) {
    if (aroundTheEnd[i]!.for(it)) return settleIn(aroundTheEnd, i, it, end);
  }
  return settleInQueue(it, end);
}

function settleIn(steps: readonly EndStep[], i: number, it: Attempt, end: End): Maybe<boolean> {
  return steps[i]!.settle(it, end, (next) => settle(it, next, i + 1));
}

function settleInQueue(it: Attempt, end: End): Promise<boolean> {
  const { run, ports } = it;
  const { verdict, report } = end;
  const { settler } = ports;
  if (verdict.verb === 'nack') {
    const { delayMs, countAttempt } = verdict;
    return settler.nack(run.lease, { delayMs, countAttempt, report });
  }
  if (verdict.verb === 'abandon') {
    const { reason } = verdict;
    return settler.abandon(run.lease, {
      reason,
      error: errorText(report.error),
      report,
      ...keptOf(it, reason),
    });
  }
  const ack = ackOf(it, end);
  return ports.ack ? ports.ack(ack) : ackAlone(ports, ack);
}

async function ackAlone({ settler }: AttemptPorts, one: Ack): Promise<boolean> {
  return (await settler.ack([one]))[0] === true;
}
