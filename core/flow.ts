/**
 * The whole life of a job, top to bottom:
 * enqueue → sign → send (enqueue.ts, client.ts); then, for every lease:
 * verify → admit → guard → run ONE attempt → settle → record, where the queue keeps no records itself.
 */

import type { App } from './app.ts';
import type { Client } from './client.ts';
import type { AbandonReason, JobSettler, JobTransaction } from './contract.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { LongshoreError } from './errors.ts';
import { execute } from './execute.ts';
import { errorText, toError } from './failure.ts';
import { type Job, noTransaction } from './job.ts';
import { createRecording } from './recording.ts';
import type { Run } from './run.ts';
import { validate } from './schema.ts';
import type { AttemptError, AttemptReport, Outcome } from './store.ts';
import { announceEnd, announceStart, record } from './telling.ts';
import {
  afterFailure,
  crashLoop,
  giveBack,
  givenBackMs,
  refuse,
  rejected,
  reportOf,
  UnknownJob,
  type Verdict,
} from './verdict.ts';

export interface AttemptPorts {
  readonly client: Client;
  /** The backend itself, or a wrapper that groups its calls. */
  readonly settler: JobSettler;
}

export interface AttemptResult {
  readonly id: string | null;
  readonly job: string | null;
  readonly outcome: Outcome;
  /** `false`: the lease was no longer ours, so nothing was changed. */
  readonly settled: boolean;
  readonly attempt: number;
  readonly delayMs: number | null;
  readonly reason: AbandonReason | null;
  readonly error: AttemptError | null;
}

/** A message that may run here. */
export interface Admitted {
  readonly envelope: Envelope;
  readonly job: Job;
  /** 1 = first run, over all copies of the message. */
  readonly attempt: number;
}

const longestBusyMs = 5_000;

/**
 * One lease, one attempt, one settlement. Resolves with what happened; rejects only when the backend or a store
 * failed, and then nothing was settled: the lease runs out and the message comes back.
 */
export async function attempt(app: App, ports: AttemptPorts, run: Run): Promise<AttemptResult> {
  const { lease } = run;
  const startedAt = app.clock.now();
  const { writer } = ports.client.stores.records;
  if (writer) run.recording = createRecording(app, writer, lease.token);
  const admission = admit(app, run, startedAt);
  const admitted = admission instanceof LongshoreError ? null : admission;
  let verdict =
    admission instanceof LongshoreError
      ? refuse(admission)
      : await runGuarded(app, ports, run, admission, startedAt);
  const number = admitted?.attempt ?? lease.attempt;
  let report = reportOf(verdict, number, startedAt, app.clock.now());
  run.onSettling?.();
  let settled: boolean;
  try {
    settled = await settle(ports, run, verdict, report, admitted);
  } catch (error) {
    // What the handler wrote could not be committed: nothing is settled, and the attempt has failed.
    if (!admitted || !isRefusedCommit(run, error)) throw error;
    verdict = afterFailure(app, admitted.job, admitted.envelope, admitted.attempt, error);
    report = reportOf(verdict, number, startedAt, app.clock.now());
    if (run.key !== null) await ports.client.stores.keys.release(run.key, lease.token).catch(() => false);
    settled = await settle(ports, run, verdict, report, admitted);
  }
  if (settled && run.recording) await record(run.recording, admission, verdict, report);
  const result: AttemptResult = {
    id: run.id,
    job: admitted?.job.name ?? null,
    outcome: verdict.outcome,
    settled,
    attempt: report.attempt,
    delayMs: verdict.verb === 'nack' ? verdict.delayMs : null,
    reason: verdict.verb === 'abandon' ? verdict.reason : null,
    error: report.error,
  };
  if (app.events.active) announceEnd(app, run, admitted, result, report);
  return result;
}

/** Verify, then parse, then ask whether this message may run here. Returns the reason when it may not. */
function admit(app: App, run: Run, now: number): Admitted | LongshoreError {
  const { lease } = run;
  let envelope: Envelope;
  try {
    envelope = readEnvelope(lease.body, { ring: app.keyRing(), now, maxBytes: app.maxBodyBytes });
  } catch (error) {
    if (error instanceof LongshoreError) return error;
    throw error; // a fault of the key ring is no fault of the message
  }
  run.id = envelope.identifier;
  if (envelope.queue !== lease.queue) {
    return new LongshoreError(
      'WRONG_QUEUE',
      `The envelope is signed for queue "${envelope.queue}" but came from "${lease.queue}": it was copied.`,
    );
  }
  const job = app.jobs.get(envelope.job);
  if (!job) {
    const young = now - (envelope.schedule ?? envelope.issuedAt) < app.unknownJobGraceMs;
    const next = young ? 'It is given back: a newer worker may know it.' : 'Deploy the job, then retry it.';
    return new UnknownJob(`No job "${envelope.job}" is defined here. ${next}`, envelope, young);
  }
  if (app.accepts.get(lease.queue)?.has(job.name) === false) {
    return new UnknownJob(`Queue "${lease.queue}" does not accept job "${job.name}".`, envelope, false);
  }
  return { envelope, job, attempt: envelope.attempts + lease.attempt };
}

/** The idempotency guard around the run: claim before, complete with the ack, release on everything else. */
async function runGuarded(
  app: App,
  ports: AttemptPorts,
  run: Run,
  admitted: Admitted,
  now: number,
): Promise<Verdict> {
  const { envelope, job } = admitted;
  const { lease } = run;
  // A queue is trusted to keep a message, not to keep its time: whoever can write to it could deliver early.
  if (envelope.schedule != null && now < envelope.schedule) return giveBack(envelope.schedule - now, null);
  if (envelope.expiresAt != null && now >= envelope.expiresAt) {
    const error = new LongshoreError('EXPIRED', `The job was to begin before ${iso(envelope.expiresAt)}.`);
    return rejected('expired', error);
  }
  const tooMany = admitted.attempt > envelope.maxRetries + 1;
  if (tooMany && envelope.idempotencyKey == null) return crashLoop(envelope);
  let payload: unknown;
  try {
    payload = validate(job.schema, envelope.payload, job.name);
    if (payload instanceof Promise) payload = await payload;
  } catch (error) {
    // A schema may ask a database: only its own "no" is final, a fault of its own is a failed attempt.
    if (!(error instanceof LongshoreError)) return afterFailure(app, job, envelope, admitted.attempt, error);
    return rejected('rejected', error);
  }
  if (envelope.idempotencyKey == null) return runAttempt(app, ports, run, admitted, payload, now);

  const { keys } = ports.client.stores;
  const key = guardKey(job.name, envelope);
  const claim = await keys.claim(key, lease.token, lease.expiresAt).catch(toError);
  if (claim instanceof Error) return giveBack(givenBackMs, claim); // not run unguarded, and no attempt spent
  if (claim.state === 'completed') return { verb: 'ack', outcome: 'skipped-idempotent', output: claim.value };
  if (claim.state === 'running') {
    return giveBack(Math.min(longestBusyMs, Math.max(1000, claim.until - now)), null);
  }
  // Asked only now: where the last attempt completed its key and could not ack, the job is done, not in a loop.
  if (tooMany) {
    await keys.release(key, lease.token).catch(() => false);
    return crashLoop(envelope);
  }
  run.key = key;
  const verdict = await runAttempt(app, ports, run, admitted, payload, now);
  // A failed attempt must never block its own retry. If this write fails, the hold ends with the lease. After a lost
  // lease the hold is left to end by itself: the handler may still be at work.
  if (verdict.verb === 'nack' || verdict.verb === 'abandon')
    await keys.release(key, lease.token).catch(() => false);
  return verdict;
}

async function runAttempt(
  app: App,
  ports: AttemptPorts,
  run: Run,
  admitted: Admitted,
  payload: unknown,
  now: number,
): Promise<Verdict> {
  const { envelope, job, attempt: number } = admitted;
  if (run.recording && (await run.recording.started(envelope, number, now))) {
    const error = new LongshoreError('CANCELLED', 'The job was cancelled before this attempt began.');
    return rejected('cancelled', error);
  }
  if (app.events.active) announceStart(app, run, admitted);
  if (job.transaction) run.tx = await begin(ports.client, job);
  const end = await execute(app, ports.client, {
    run,
    envelope,
    job,
    attempt: number,
    payload,
    startedAt: now,
  });
  if (end.kind === 'returned') return { verb: 'ack', outcome: 'acked', output: end.output };
  await run.tx?.rollback();
  switch (run.cause) {
    case 'lease-lost':
      return { verb: 'nothing', outcome: 'requeued', error: end.error };
    case 'cancelled':
      return rejected('cancelled', end.error);
    case 'shutdown':
      return giveBack(0, end.error);
    default:
      return afterFailure(app, job, envelope, number, end.error);
  }
}

/** A backend that cannot begin now has failed like one that cannot settle: the lease runs out and the message comes back. */
async function begin({ backend }: Client, job: Job): Promise<JobTransaction> {
  if (backend.begin) return backend.begin();
  throw noTransaction(job, backend);
}

async function settle(
  ports: AttemptPorts,
  run: Run,
  verdict: Verdict,
  report: AttemptReport,
  admitted: Admitted | null,
): Promise<boolean> {
  const { settler, client } = ports;
  const { lease } = run;
  switch (verdict.verb) {
    case 'nothing':
      return false;
    case 'nack':
      return settler.nack(lease, { delayMs: verdict.delayMs, countAttempt: verdict.countAttempt, report });
    case 'abandon':
      return settler.abandon(lease, { reason: verdict.reason, error: errorText(report.error), report });
    case 'ack':
      break;
  }
  const { tx, key } = run;
  if (key === null || verdict.outcome !== 'acked') {
    if (tx) return tx.ack({ lease, report });
    return (await settler.ack([{ lease, report }]))[0] === true;
  }
  const done = { value: verdict.output, keepUntil: report.endedAt + admitted!.job.idempotencyKeepMs };
  // Where queue and keys share a database, both are one transaction; elsewhere the key comes first, because a
  // message that returns with its key done is skipped, while an acked one with its key open is not protected.
  if (client.stores.keys === client.backend.stores?.keys) {
    const ack = { lease, report, complete: { key, owner: lease.token, ...done } };
    return tx ? tx.ack(ack) : (await settler.ack([ack]))[0] === true;
  }
  if (tx) {
    // But what a transaction wrote is gone if it does not commit, and then its key must not be done.
    const settled = await tx.ack({ lease, report });
    if (settled) await client.stores.keys.complete(key, lease.token, done).catch(() => false);
    return settled;
  }
  if (!(await client.stores.keys.complete(key, lease.token, done))) return false;
  return (await settler.ack([{ lease, report }]))[0] === true;
}

const isRefusedCommit = ({ tx }: Run, error: unknown): boolean =>
  tx !== null && error instanceof LongshoreError && error.code === 'HANDLER';

/** A tenant's keys are its own: else two tenants with the same invoice number would share one effect, and its output. */
function guardKey(job: string, { idempotencyKey, context }: Envelope): string {
  const tenantId = context?.tenantId;
  const key = `job:${job}:${idempotencyKey}`;
  return tenantId === undefined ? key : `tenant:${tenantId.length}:${tenantId}:${key}`;
}
const iso = (at: number): string => new Date(at).toISOString();
