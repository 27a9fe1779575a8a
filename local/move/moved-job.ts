/** Makes moved jobs from leases and dead letters. It reads envelopes without verifying them: the worker that runs the job does that. */

import { createHash } from 'node:crypto';
import type { DeadLetter } from '../../core/contract/admin.ts';
import type { JobLease, OutgoingMessage } from '../../core/contract/queue.ts';
import type { JobRecord } from '../../core/contract/store.ts';
import { isChainOrNull } from '../../core/envelope/chain.ts';
import type { Envelope } from '../../core/envelope/envelope.ts';
import { messageFactsOf } from '../../core/envelope/facts.ts';
import type { MovedJob } from './contract.ts';

/** `null` = the text is no envelope. */
export function readEnvelope(body: string): Partial<Envelope> | null {
  try {
    const found: unknown = JSON.parse(body);
    return typeof found === 'object' && found !== null ? found : null;
  } catch {
    return null;
  }
}

const normal = 5;

export function jobOfLease(lease: JobLease, now: number): MovedJob {
  const { queue, body, attempt, interrupted } = lease;
  const envelope = readEnvelope(body) ?? {};
  return {
    message: {
      // An unreadable one must get the same id each time.
      id: textOr(
        envelope.identifier,
        `unread-${createHash('sha256').update(body).digest('hex').slice(0, 32)}`,
      ),
      job: textOr(envelope.job, 'unknown'),
      queue,
      body,
      priority: levelOf(envelope),
      notBefore: attempt === 1 ? readySince(envelope, now) : now,
      group: null,
      tenantId: textOr(envelope.context?.tenantId, null),
      ...factsIn(envelope),
    },
    createdAt: momentOr(envelope.issuedAt, now),
    attempts: attempt - 1,
    interrupted,
    reports: [],
    progress: null,
    death: null,
  };
}

/** As its sender has said. */
function readySince({ schedule, issuedAt }: Partial<Envelope>, now: number): number {
  return Math.min(now, momentOr(schedule, momentOr(issuedAt, now)));
}

/** @param record of the origin's own store */
export function jobOfDeadLetter(dead: DeadLetter, record: JobRecord | null): MovedJob {
  const { id, queue, job, body, reason, error, attempt, diedAt } = dead;
  const envelope = readEnvelope(body) ?? {};
  return {
    message: {
      id,
      queue,
      job,
      body,
      priority: record?.priority ?? levelOf(envelope),
      notBefore: record?.runAt ?? diedAt,
      group: null,
      tenantId: record?.tenantId ?? textOr(envelope.context?.tenantId, null),
      ...factsIn(envelope),
    },
    createdAt: record?.createdAt ?? momentOr(envelope.issuedAt, diedAt),
    attempts: attempt,
    interrupted: false,
    reports: record?.attempts ?? [],
    progress: record?.progress ?? null,
    death: { reason, error, at: diedAt },
  };
}

function factsIn({
  name,
  idempotencyKey,
  context,
  chain,
}: Partial<Envelope>): Pick<OutgoingMessage, 'facts'> {
  const { requestId, traceparent } = context ?? {};
  const [request, trace] = [textOr(requestId, undefined), textOr(traceparent, undefined)];
  const facts = messageFactsOf({
    name: textOr(name, null),
    idempotencyKey: textOr(idempotencyKey, null),
    context: { ...(request && { requestId: request }), ...(trace && { traceparent: trace }) },
    ...(chain && isChainOrNull(chain) && { chain }),
  });
  return facts ? { facts } : {};
}

function levelOf({ priority }: Partial<Envelope>): number {
  return Number.isInteger(priority) && priority! >= 0 && priority! <= 9 ? priority! : normal;
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' && value !== '' ? value : otherwise;
}

const momentOr = (value: unknown, otherwise: number): number =>
  Number.isSafeInteger(value) ? (value as number) : otherwise;
