/** Verifies, then parses, then decides whether this message may run here and now. */

import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { type Envelope, readEnvelope } from '../../envelope/envelope.ts';
import type { App } from '../app/app.ts';
import { answered } from './answered.ts';
import {
  type Admitted,
  type Attempt,
  type AttemptPorts,
  type Maybe,
  type RunStep,
  stepsOf,
  type Verdict,
} from './attempt.ts';
import type { Run } from './run.ts';
import { crashLoop, rejected, release, releaseDelayMs, unknownJob } from './verdict.ts';

type Draft = { -readonly [Name in keyof Attempt]: Attempt[Name] };

export function admit(app: App, ports: AttemptPorts, run: Run, startedAt: number): Attempt {
  const it: Draft = {
    app,
    ports,
    run,
    startedAt,
    number: run.lease.attempt,
    envelope: null,
    job: null,
    refusal: null,
    payload: undefined,
  };
  it.refusal = notHere(it) ?? notNow(it);
  return it;
}

function notHere(it: Draft): Verdict | null {
  const { app, run, startedAt: now } = it;
  const { lease } = run;
  let envelope: Envelope;
  try {
    envelope = readEnvelope(lease.body, { ring: app.keyRing(), now, maxBytes: app.maxBodyBytes });
  } catch (error) {
    if (error instanceof LongshoreError) {
      const { refusal } = lease;
      return rejected('rejected', refusal === undefined ? error : new LongshoreError('PAYLOAD', refusal));
    }
    throw error; // an error of the key ring is not the fault of the message
  }
  run.id = envelope.identifier;
  if (envelope.queue !== lease.queue) {
    return refused(
      'WRONG_QUEUE',
      `The envelope is signed for queue "${envelope.queue}" but came from "${lease.queue}": it was copied.`,
    );
  }
  it.envelope = envelope;
  const job = app.jobs.get(envelope.job);
  if (!job) return unknownJob({ app, startedAt: now, envelope }, envelope.job);
  if (app.accepts.get(lease.queue)?.has(job.name) === false) {
    return refused('UNKNOWN_JOB', `Queue "${lease.queue}" does not accept job "${job.name}".`);
  }
  it.job = job;
  run.job = job.name;
  run.startedAt = now;
  it.number = envelope.attempts + lease.attempt;
  return null;
}

function notNow(it: Attempt): Verdict | null {
  // A job with a key is checked later: its key may say that the work is already done.
  return it.envelope!.idempotencyKey == null && isOneTooMany(it) ? crashLoop(it.envelope!) : null;
}

/** Handles a job that is too early or too late by this host's clock. The queue's own clock decides, if it has one. */
export const timely: RunStep = {
  for: (it) => untimely(it, it.startedAt) !== null,

  run(it, next) {
    const { backend } = it.ports.client;
    const decide = (now: number) => {
      const verdict = untimely(it, now);
      return verdict?.verb === 'abandon' ? unlessBegun(it, verdict, next) : (verdict ?? next());
    };
    return backend.now ? answered(it, 'The queue', backend.now()).then(decide) : decide(it.startedAt);
  },
};

function untimely({ envelope }: Attempt, now: number): Verdict | null {
  const { schedule, expiresAt } = envelope!;
  // The queue is not trusted with the time of a message: anybody who can write to it could deliver early.
  if (schedule != null && now < schedule) return release(schedule - now, null);
  if (expiresAt == null || now < expiresAt) return null;
  const before = new Date(expiresAt).toISOString();
  return rejected(
    'expired',
    new LongshoreError('EXPIRED', `The job did not begin before ${before}, when it expired.`),
  );
}

/** A job that slept or waited between two steps has begun in time. */
async function unlessBegun(it: Admitted, expired: Verdict, next: () => Maybe<Verdict>): Promise<Verdict> {
  for (const ask of stepsOf(it.app).hasBegun) {
    const begun = await answered(it, 'The step store', Promise.resolve(ask(it))).catch(toError);
    if (begun instanceof Error) return release(releaseDelayMs, begun);
    if (begun) return next();
  }
  return expired;
}

/** Whether all allowed attempts began without a result. */
export const isOneTooMany = ({ envelope, number }: Attempt): boolean => number > envelope!.maxRetries + 1;

const refused = (code: 'WRONG_QUEUE' | 'UNKNOWN_JOB', message: string): Verdict =>
  rejected('rejected', new LongshoreError(code, message));
