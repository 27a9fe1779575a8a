/**
 * The whole life of a job, top to bottom:
 * enqueue → sign → send (enqueue.ts, sending.ts); then, for every lease:
 * verify → admit → guard → run ONE attempt → record, where the queue keeps no records itself → settle.
 */

import type { App } from './app/app.ts';
import { type Job, noTransaction } from './app/job.ts';
import { validate } from './app/schema.ts';
import { announceEnd, announceStart, record } from './attempt/announce.ts';
import type { Admitted, AttemptPorts, AttemptResult } from './attempt/attempt.ts';
import { execute } from './attempt/execute.ts';
import { createRecording } from './attempt/recording.ts';
import { abortReason, type Run } from './attempt/run.ts';
import {
  afterFailure,
  crashLoop,
  refuse,
  rejected,
  release,
  releaseDelayMs,
  reportOf,
  UnknownJob,
  type Verdict,
} from './attempt/verdict.ts';
import { LongshoreError } from './base/errors.ts';
import { errorText, toError } from './base/failure.ts';
import type { AttemptReport } from './contract/outcome.ts';
import type { Ack } from './contract/queue.ts';
import type { Client } from './enqueue/client.ts';
import { alreadyDone, type Envelope, readEnvelope } from './envelope/envelope.ts';

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
  const decided = admission instanceof LongshoreError ? refuse(admission) : decide(app, ports, admission);
  let verdict = decided instanceof Promise ? await decided : decided;
  const number = admitted?.attempt ?? lease.attempt;
  let report = reportOf(verdict, number, startedAt, app.clock.now());
  ports.handled?.(run);
  let settled: boolean;
  try {
    const how = run.recording && !run.tx ? recordFirst(app, ports, run, admission, verdict, report) : ports;
    settled = await settle(how, run, verdict, report, admitted);
  } catch (error) {
    // What the handler wrote could not be committed: nothing is settled, and the attempt has failed.
    if (!admitted || !isRefusedCommit(run, error)) throw error;
    verdict = afterFailure(app, admitted.job, admitted.envelope, admitted.attempt, error);
    report = reportOf(verdict, number, startedAt, app.clock.now());
    if (run.key !== null) await ports.client.stores.keys.release(run.key, lease.token).catch(() => false);
    settled = await settle(ports, run, verdict, report, admitted);
  }
  // Of a transaction nothing is true before it has committed.
  if (settled && run.recording && run.tx) await record(run.recording, admission, verdict, report);
  if (settled && admitted?.envelope.claim != null) await dropPayload(app, ports.client, admitted, verdict);
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
  return { run, envelope, job, attempt: envelope.attempts + lease.attempt, startedAt: now };
}

/** What needs no waiting is asked first: most jobs then run without a further promise. */
function decide(app: App, ports: AttemptPorts, admitted: Admitted): Verdict | Promise<Verdict> {
  const { run, envelope, startedAt: now } = admitted;
  // It has waited here without being renewed, in a process that got no time to do so: somebody else may run it already.
  if (now >= run.expiresAt) return { verb: 'nothing', outcome: 'requeued', error: abortReason('lease-lost') };
  // A queue is trusted to keep a message, not to keep its time: whoever can write to it could deliver early.
  if (envelope.schedule != null && now < envelope.schedule) return release(envelope.schedule - now, null);
  if (envelope.expiresAt != null && now >= envelope.expiresAt) {
    const error = new LongshoreError('EXPIRED', `The job was to begin before ${iso(envelope.expiresAt)}.`);
    return rejected('expired', error);
  }
  if (envelope.idempotencyKey == null && isOneTooMany(admitted)) return crashLoop(envelope);
  if (envelope.claim != null) return fetchPayload(app, ports, admitted);
  return runValid(app, ports, admitted, envelope.payload);
}

/** A payload that was too large for the queue is kept beside it. */
async function fetchPayload(app: App, ports: AttemptPorts, admitted: Admitted): Promise<Verdict> {
  const { loadPayload } = await offloading();
  let input: unknown;
  try {
    input = await loadPayload(ports.client.stores, admitted.envelope);
  } catch (error) {
    return unfit(app, admitted, error);
  }
  if (input === alreadyDone) return { verb: 'ack', outcome: 'skipped-idempotent', output: null };
  return runValid(app, ports, admitted, input);
}

function runValid(
  app: App,
  ports: AttemptPorts,
  admitted: Admitted,
  input: unknown,
): Verdict | Promise<Verdict> {
  const { envelope, job } = admitted;
  let payload: unknown;
  try {
    payload = validate(job.schema, input, job.name);
  } catch (error) {
    return unfit(app, admitted, error);
  }
  const go = envelope.idempotencyKey == null ? runAttempt : runGuarded;
  if (!(payload instanceof Promise)) return go(app, ports, admitted, payload);
  return payload.then(
    (valid) => go(app, ports, admitted, valid),
    (error) => unfit(app, admitted, error),
  );
}

const isOneTooMany = ({ envelope, attempt: number }: Admitted): boolean => number > envelope.maxRetries + 1;

/** A schema may ask a database: only a "no" is final, a fault of its own or of the payload store is a failed attempt. */
function unfit(app: App, { job, envelope, attempt: number }: Admitted, error: unknown): Verdict {
  return error instanceof LongshoreError && error.code !== 'BACKEND' && error.code !== 'CONFIG'
    ? rejected('rejected', error)
    : afterFailure(app, job, envelope, number, error);
}

/** Not that of a dead letter, which somebody may retry; and after the record, which tells a late copy that all is done. */
async function dropPayload(app: App, client: Client, { envelope }: Admitted, how: Verdict): Promise<void> {
  if (how.verb !== 'ack' && !(how.verb === 'abandon' && how.reason === 'cancelled')) return;
  await (await offloading()).dropPayload(app, client.stores, envelope);
}

/** Loaded with the first payload that was too large for its queue. */
const offloading = () => import('./enqueue/offload.ts');

/** The idempotency guard around the run: claim before, complete with the ack, release on everything else. */
async function runGuarded(
  app: App,
  ports: AttemptPorts,
  admitted: Admitted,
  payload: unknown,
): Promise<Verdict> {
  const { keys } = ports.client.stores;
  const { run, startedAt } = admitted;
  const { lease } = run;
  const key = guardKey(admitted.job.name, admitted.envelope);
  // The run's end, not the lease's: what has waited in a worker's buffer was renewed there.
  const claim = await keys.claim(key, lease.token, run.expiresAt).catch(toError);
  if (claim instanceof Error) return release(releaseDelayMs, claim); // not run unguarded, and no attempt spent
  if (claim.state === 'completed') return { verb: 'ack', outcome: 'skipped-idempotent', output: claim.value };
  if (claim.state === 'running') {
    return release(Math.min(longestBusyMs, Math.max(1000, claim.until - startedAt)), null);
  }
  // Asked only now: where the last attempt completed its key and could not ack, the job is done, not in a loop.
  if (isOneTooMany(admitted)) {
    await keys.release(key, lease.token).catch(() => false);
    return crashLoop(admitted.envelope);
  }
  run.key = key;
  const verdict = await runAttempt(app, ports, admitted, payload);
  // A failed attempt must never block its own retry. If this write fails, the hold ends with the lease. After a lost
  // lease the hold is left to end by itself: the handler may still be at work.
  if (verdict.verb === 'nack' || verdict.verb === 'abandon')
    await keys.release(key, lease.token).catch(() => false);
  return verdict;
}

function runAttempt(
  app: App,
  ports: AttemptPorts,
  admitted: Admitted,
  payload: unknown,
): Verdict | Promise<Verdict> {
  const { run, job } = admitted;
  if (run.recording || job.transaction) return runPrepared(app, ports.client, admitted, payload);
  if (app.events.active) announceStart(app, admitted);
  return execute(app, ports.client, admitted, payload);
}

async function runPrepared(app: App, client: Client, admitted: Admitted, payload: unknown): Promise<Verdict> {
  const { run, job, envelope, attempt: number, startedAt } = admitted;
  if (run.recording && (await run.recording.started(envelope, number, startedAt))) {
    const error = new LongshoreError('CANCELLED', 'The job was cancelled before this attempt began.');
    return rejected('cancelled', error);
  }
  if (app.events.active) announceStart(app, admitted);
  if (!job.transaction) return execute(app, client, admitted, payload);
  // A backend that cannot begin now has failed like one that cannot settle: the lease runs out and the message comes back.
  if (!client.backend.begin) throw noTransaction(job, client.backend);
  run.tx = await client.backend.begin();
  const verdict = await execute(app, client, admitted, payload);
  if (verdict.verb !== 'ack') await run.tx.rollback();
  return verdict;
}

function settle(
  ports: AttemptPorts,
  run: Run,
  verdict: Verdict,
  report: AttemptReport,
  admitted: Admitted | null,
): boolean | Promise<boolean> {
  const { lease, tx, key } = run;
  switch (verdict.verb) {
    case 'nothing':
      return false;
    case 'nack': {
      const { delayMs, countAttempt } = verdict;
      return ports.settler.nack(lease, { delayMs, countAttempt, report });
    }
    case 'abandon': {
      const { reason } = verdict;
      return ports.settler.abandon(lease, { reason, error: errorText(report.error), report });
    }
    case 'ack':
      if (key !== null && verdict.outcome === 'acked')
        return complete(ports, run, key, verdict.output, report, admitted!.job);
      return tx ? tx.ack({ lease, report }) : ack(ports, { lease, report });
  }
}

/** Acks, and marks the key as done. */
async function complete(
  ports: AttemptPorts,
  { lease, tx }: Run,
  key: string,
  value: string | null,
  report: AttemptReport,
  { idempotencyKeepMs }: Job,
): Promise<boolean> {
  const { stores, backend } = ports.client;
  const done = { value, keepUntil: report.endedAt + idempotencyKeepMs };
  // Where queue and keys share a database, both are one transaction; elsewhere the key comes first, because a
  // message that returns with its key done is skipped, while an acked one with its key open is not protected.
  if (stores.keys === backend.stores?.keys) {
    const both = { lease, report, complete: { key, owner: lease.token, ...done } };
    return tx ? tx.ack(both) : ack(ports, both);
  }
  if (tx) {
    // But what a transaction wrote is gone if it does not commit, and then its key must not be done.
    const settled = await tx.ack({ lease, report });
    if (settled) await stores.keys.complete(key, lease.token, done).catch(() => false);
    return settled;
  }
  return (await stores.keys.complete(key, lease.token, done)) && ack(ports, { lease, report });
}

/**
 * The same ports, which tell the record before the queue. A worker that dies between the two would else leave a record that nothing
 * ever moves again; a record that has run ahead of its queue is moved on by the attempt after this one.
 */
function recordFirst(
  app: App,
  ports: AttemptPorts,
  run: Run,
  admission: Admitted | LongshoreError,
  verdict: Verdict,
  report: AttemptReport,
): AttemptPorts {
  const { settler } = ports;
  const tell = () => record(run.recording!, admission, verdict, report);
  /** Of a lease that is over as far as we know only what the queue settled nevertheless: it may just have been renewed. */
  async function around(settling: () => Promise<boolean>): Promise<boolean> {
    const isOurs = app.clock.now() < run.expiresAt;
    if (isOurs) await tell();
    const settled = await settling();
    if (settled && !isOurs) await tell();
    return settled;
  }
  return {
    ...ports,
    ack: (one) => around(() => ack(ports, one)),
    settler: {
      ack: (acks) => settler.ack(acks),
      nack: (lease, how) => around(() => settler.nack(lease, how)),
      abandon: (lease, why) => around(() => settler.abandon(lease, why)),
    },
  };
}

async function ackAlone({ settler }: AttemptPorts, one: Ack): Promise<boolean> {
  return (await settler.ack([one]))[0] === true;
}

const ack = (ports: AttemptPorts, one: Ack): Promise<boolean> =>
  ports.ack ? ports.ack(one) : ackAlone(ports, one);

const isRefusedCommit = ({ tx }: Run, error: unknown): boolean =>
  tx !== null && error instanceof LongshoreError && error.code === 'HANDLER';

/** A tenant's keys are its own: else two tenants with the same invoice number would share one effect, and its output. */
export function guardKey(job: string, { idempotencyKey, context }: Envelope): string {
  const tenantId = context?.tenantId;
  const key = `job:${job}:${idempotencyKey}`;
  return tenantId === undefined ? key : `tenant:${tenantId.length}:${tenantId}:${key}`;
}
const iso = (at: number): string => new Date(at).toISOString();
