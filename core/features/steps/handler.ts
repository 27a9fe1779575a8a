/** `ctx.step`, `ctx.sleep` and `ctx.waitFor`. Loaded with the first of them. */

import { checkOptions } from '../../base/checks.ts';
import { millis } from '../../base/duration.ts';
import { config, LongshoreError, SnoozeError, shown } from '../../base/errors.ts';
import { faultOf } from '../../base/text.ts';
import type { StepStore } from '../../contract/derived/steps.ts';
import type { JobTransaction } from '../../contract/queue.ts';
import type {
  ReceivedEvent,
  StepContext,
  StepOptions,
  TransactionStepContext,
  WaitOptions,
} from '../../kernel/app/durable.ts';
import { longestDelayMs } from '../../kernel/app/retry.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Admitted } from '../../kernel/attempt/attempt.ts';
import { abortReason, type HandlerSteps } from '../../kernel/attempt/run.ts';
import { mayBegin } from '../../kernel/attempt/verdict.ts';
import { checkStep, resultText } from './check.ts';
import { checkEvent } from './emit.ts';
import { StepLog } from './log.ts';
import { ownSteps, refuse } from './own-steps.ts';
import { type Parked, type RunSteps, runSteps } from './run-steps.ts';
import { digestOf, isSleep, isWait, type RememberedStep, type WaitStep } from './stored.ts';
import { register } from './waiters.ts';

/** A job that cannot be woken checks again after as long as it has waited. */
const alone = { leastMs: 1_000, mostMs: 60_000 };
/** A job that can be woken also checks at times: the emitter may die before it wakes the job. */
const longestParkMs = 3_600_000;
const longestName = 100;

export async function step(
  it: Admitted,
  name: string,
  work: unknown,
  options: StepOptions = {},
): Promise<unknown> {
  checkStep(work, options);
  const log = await enter(it, name);
  const found = log.find(name);
  if (found) return kindOf(found) === 'step' ? resultOf(found) : notA('step', found);
  const { run, app, envelope } = it;
  const given = { idempotencyKey: `${envelope.identifier}:${name}`, signal: run.signal };
  const done = (value: unknown): RememberedStep => {
    const text = resultText(name, value);
    return { name, at: app.clock.now(), ...(text !== null && { value: JSON.parse(text) }) };
  };
  let remembered: RememberedStep;
  if (options.transaction) {
    remembered = ours(it, await tried(it, name, () => inTransaction(it, log, given, work, done)));
  } else {
    const step = done(await tried(it, name, async () => work(given)));
    remembered = await remember(it, log, name, () => step);
  }
  runSteps(run).done++;
  return resultOf(remembered);
}

/** A failed step may be repeated by the same attempt. */
async function tried<T>(it: Admitted, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    runSteps(it.run).names.delete(name);
    throw error;
  }
}

export async function sleep(it: Admitted, time: number | string): Promise<void> {
  const ms = lengthOf('the time of ctx.sleep()', time);
  const steps = stepsOf(it);
  const name = `sleep:${++steps.sleeps}`;
  const log = await enter(it, name);
  const at = it.app.clock.now();
  const found = log.find(name) ?? (await remember(it, log, name, () => ({ name, at, until: at + ms })));
  if (!isSleep(found)) notA('sleep', found);
  else if (found.until > it.app.clock.now())
    park(it, { until: found.until, forEvent: false }, `sleeps until ${new Date(found.until).toISOString()}`);
}

/** @param already returns the payload of an event that happened before the wait; `null` = it has not happened */
export async function waitFor(
  it: Admitted,
  event: string,
  options: WaitOptions,
  already: () => Promise<unknown> = async () => null,
): Promise<ReceivedEvent | null> {
  const { key = null, timeoutMs } = options ?? {};
  checkEvent(event, key);
  checkOptions('ctx.waitFor()', options, { key: '', timeoutMs: '', name: '' });
  const ms = lengthOf('timeoutMs of ctx.waitFor()', timeoutMs);
  const name = options.name ?? waitName(event, key);
  const log = await enter(it, name);
  const { app, envelope, run, ports } = it;
  const { clock } = app;
  const at = clock.now();
  let found = log.find(name);
  found ??= await remember(it, log, name, () => ({ name, at, until: at + ms, event, key }));
  if (!isWait(found)) return notA('wait', found);
  if (isPending(found) && found.until > at) {
    const { until } = found;
    // Registered at each attempt: a crash may have come between the two writes.
    const { identifier: id, context } = envelope;
    const mine = context?.tenantId === undefined ? {} : { tenantId: context.tenantId };
    const waiter = { id, queue: run.lease.queue, step: name, until, ...mine };
    const registering = register(ownSteps(it), clock, found.event, found.key, waiter);
    const kept = (await answered(it, 'The step store', registering)) ?? (await happened(it, already));
    if (kept) found = await remember(it, log, name, (now) => settled(now as WaitStep, { got: kept }));
  } else if (isPending(found))
    found = await remember(it, log, name, (now) => settled(now as WaitStep, { over: true }));
  const { got, over, until, at: since } = found as WaitStep;
  if (got) return { payload: got.payload, emittedAt: got.at };
  if (over) return null;
  const now = clock.now();
  const pollMs = ports.client.backend.pending
    ? longestParkMs
    : Math.min(alone.mostMs, Math.max(alone.leastMs, now - since));
  const asks = Math.max(now + 1, Math.min(until, now + pollMs));
  return park(it, { until: asks, forEvent: true }, `waits for event "${event}"`);
}

/** An event from before the wait: checked after the wait is registered, so that none is missed. */
async function happened(it: Admitted, already: () => Promise<unknown>): Promise<WaitStep['got'] | null> {
  const payload = await answered(it, 'The store', already());
  return payload === null ? null : { at: it.app.clock.now(), payload };
}

const isPending = ({ got, over }: WaitStep): boolean => got === undefined && over === undefined;
/** The first event is kept. */
const settled = (step: WaitStep, end: Pick<WaitStep, 'got' | 'over'>): WaitStep =>
  isPending(step) ? { ...step, ...end } : step;

function lengthOf(what: string, time: unknown): number {
  const ms = Math.ceil(millis(what, time));
  if (ms <= longestDelayMs) return ms;
  throw new LongshoreError('OPTION', `Expected ${what} to be 366 days at most, got ${shown(time)}.`);
}

/** Throws if a step must not begin, else resolves with the remembered steps. */
async function enter(it: Admitted, name: string): Promise<StepLog> {
  checkStepName(name);
  const steps = stepsOf(it);
  if (steps.names.has(name))
    throw config(
      `Job "${it.job.name}" has two steps called ${shown(name)} in one attempt. Give each a name of its own, for example \`item-\${i}\`.`,
    );
  steps.names.add(name);
  const log = await answered(it, 'The step store', steps.log);
  if (log === null) throw lost(it);
  mayGoOn(it, steps);
  return log;
}

function mayGoOn(it: Admitted, steps: HandlerSteps): void {
  if (steps.parked) throw steps.parked.error;
  mayBegin(it);
}

function stepsOf(it: Admitted): RunSteps {
  const { run, job, ports, app, envelope, number } = it;
  if (run.steps) {
    mayGoOn(it, run.steps);
    return runSteps(run);
  }
  if (!ports.client.stores.steps)
    throw config(
      `Job "${job.name}" has steps, but no store that keeps them. Give connect() a store with steps, for example sqliteStore().`,
    );
  if (job.transaction)
    throw config(
      `Job "${job.name}" has transaction: true, so it cannot have steps: the writes of a step could be rolled back although the step is stored as done. Leave it out, and give each step that writes a transaction: ctx.step(name, work, { transaction: true }).`,
    );
  mayBegin(it);
  const { token, expiresAt } = run.lease; // a token may be very long
  const who = { id: envelope.identifier, owner: digestOf(token), attempt: number, leaseUntil: expiresAt };
  const open: RunSteps['open'] = new Set();
  const steps: RunSteps = {
    log: StepLog.open(ownSteps(it), app.clock, who, (error) => refuse(run, error)),
    names: new Set(),
    sleeps: 0,
    done: 0,
    parked: null,
    refused: false,
    open,
    end() {
      for (const tx of open) void tx.rollback();
    },
  };
  steps.log.catch(() => {}); // the next step reports it
  run.steps = steps;
  return steps;
}

function waitName(event: string, key: string | null): string {
  const name = key === null ? `wait:${event}` : `wait:${event}:${key}`;
  return name.length <= longestName ? name : `wait:${digestOf(name)}`;
}

function checkStepName(name: unknown): void {
  const fault = faultOf(name, longestName);
  if (fault !== null)
    throw new LongshoreError('OPTION', `Expected the name of a step to be a text ${fault}.`);
}

async function remember(
  it: Admitted,
  log: StepLog,
  name: string,
  change: (step: RememberedStep | undefined) => RememberedStep,
): Promise<RememberedStep> {
  return ours(it, await answered(it, 'The step store', log.put(name, change)));
}

function ours(it: Admitted, step: RememberedStep | null): RememberedStep {
  if (step === null) throw lost(it);
  return step;
}

/** Another attempt has the job: this one ends without settling. */
function lost({ run }: Admitted): LongshoreError {
  run.end('lease-lost');
  return abortReason('lease-lost');
}

function park(it: Admitted, how: Pick<Parked, 'until' | 'forEvent'>, what: string): never {
  const steps = runSteps(it.run);
  const error = new SnoozeError(Math.max(0, how.until - it.app.clock.now()), `The job ${what}.`);
  // The job runs again at the end of its first wait.
  if (steps.parked === null || how.until < steps.parked.until)
    steps.parked = {
      until: how.until,
      forEvent: how.forEvent || steps.parked?.forEvent === true,
      waits: what,
      error,
      end: () => ({
        verb: 'nack',
        outcome: 'requeued',
        delayMs: Math.max(1, how.until - it.app.clock.now()),
        countAttempt: false,
        error: null,
      }),
    };
  throw steps.parked.error;
}

const resultOf = (step: RememberedStep): unknown => ('value' in step ? step.value : undefined);

const kindOf = (step: RememberedStep): 'step' | 'sleep' | 'wait' =>
  isWait(step) ? 'wait' : isSleep(step) ? 'sleep' : 'step';

/** The name is used for another kind of step: a new release has reused it. */
function notA(kind: 'step' | 'sleep' | 'wait', found: RememberedStep): never {
  throw config(
    `${shown(found.name)} was a ${kindOf(found)} in an earlier release, so it cannot be a ${kind}. Give the new ${kind} another name.`,
  );
}

type Texts = (tx: JobTransaction['sql']) => StepStore;

/**
 * Resolves with the stored step; `null` = another attempt has the job, and everything was rolled back. If the answer to the commit is lost, the
 * step fails, and the next try finds out whether it was committed.
 */
async function inTransaction(
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
    beginning.then((late) => late.rollback()).catch(() => {}); // a late transaction must not stay open
    throw error;
  });
  open.add(tx);
  try {
    mayBegin(it); // waiting for a connection may have taken long
    const step = done(await work({ ...given, tx: tx.sql }));
    return await log.putWith((write) => tx.commit(it.run.lease, (inside) => write(within(inside))), step);
  } finally {
    open.delete(tx);
    await tx.rollback(); // no effect after a commit
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
