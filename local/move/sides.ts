/**
 * The two sides of a move. A backend with `admin.transfer` holds jobs and passes on their history. From other backends jobs are fetched,
 * and into other backends they are enqueued. Envelopes are read without verification; the worker verifies them.
 */

import { createHash } from 'node:crypto';
import type { Clock } from '../../core/base/clock.ts';
import { LongshoreError } from '../../core/base/errors.ts';
import type { DeadLetter } from '../../core/contract/admin.ts';
import type { JobLease, OutgoingMessage, QueueBackend, SendResult } from '../../core/contract/queue.ts';
import type { JobRecord } from '../../core/contract/store.ts';
import { isChainOrNull } from '../../core/envelope/chain.ts';
import type { Envelope } from '../../core/envelope/envelope.ts';
import { messageFactsOf } from '../../core/envelope/facts.ts';
import { type MovedJob, movable, type QueueTransfer } from './contract.ts';

export interface Origin {
  /** Jobs that are held at the origin, by this move or a killed one. */
  leftover(queue: string, max: number): Promise<MovedJob[]>;
  /** Takes the next jobs away from workers. `[]` = no job is left that can be taken. */
  take(queue: string, max: number): Promise<MovedJob[]>;
  /** `false` = the move has lost the job, so its copy must be removed. */
  remove(queue: string, jobs: readonly MovedJob[]): Promise<boolean[]>;
  release(queue: string, jobs: readonly MovedJob[]): Promise<unknown>;
  /** Whether `leftover` returns the jobs of a killed move. */
  readonly holds: boolean;
  /** If not, they are ready again after this time. */
  readonly comesBackAfterMs: number;
}

export interface Goal {
  put(jobs: readonly MovedJob[]): Promise<SendResult[]>;
  /** Holds the copies until the originals are gone. Without it copies may run at once, even copies of a killed move. */
  readonly transfer: QueueTransfer | undefined;
  /** `false` = attempts start again at the goal, and dead letters cannot be put. */
  readonly keepsPast: boolean;
  /** How many jobs to move at once. */
  readonly mostAtOnce: number;
}

const pageSize = 500;
/** If jobs cannot be held, up to this many may run twice after a killed move. */
const fewAtOnce = 100;
export const idsOf = (jobs: readonly MovedJob[]): string[] => jobs.map(({ message }) => message.id);

export function originOf(backend: QueueBackend, clock: Clock): Origin {
  const { transfer } = movable(backend);
  if (!transfer) return fetching(backend, clock);
  return {
    holds: true,
    comesBackAfterMs: 0,
    leftover: (queue, max) => transfer.held(queue, max),
    take: (queue, max) => transfer.hold(queue, max),
    remove: (queue, jobs) => transfer.remove(queue, idsOf(jobs)),
    release: (queue, jobs) => transfer.release(queue, idsOf(jobs)),
  };
}

const leaseMs = 30_000;
/** A distributed broker may answer "empty" although it has jobs. So the queue counts as empty after this many such answers. */
const looks = 2;
const lookMs = 2_000;
const mostFetched = 100;

function fetching(backend: QueueBackend, clock: Clock): Origin {
  const { partialTransfer } = movable(backend);
  const leases = new Map<MovedJob, JobLease>();
  /** Detects that both configs name the same queue: a moved job comes back. */
  const seen = new Set<string>();

  async function fetchSome(queue: string, most: number): Promise<MovedJob[]> {
    // A backend that can list delayed jobs is a single server, so its first answer is reliable.
    const [times, waitMs] = partialTransfer ? [1, 0] : [looks, lookMs];
    for (let look = 0; look < times; look++) {
      const request = { queues: [queue], max: Math.min(most, mostFetched), leaseMs, waitMs };
      const fetched = await backend.fetch(request);
      const jobs = fetched.map((lease) => {
        const job = jobOfLease(lease, clock.now());
        leases.set(job, lease);
        return job;
      });
      if (jobs.length > 0) return jobs;
    }
    return [];
  }

  return {
    holds: false,
    // A single server requeues a job at once when the connection of its worker ends.
    comesBackAfterMs: partialTransfer ? 0 : leaseMs,
    leftover: async () => [],
    async take(queue, most) {
      const ready = await fetchSome(queue, most);
      if (ready.length > 0 && ready.every(({ message }) => seen.has(message.id))) throw goesRound();
      const delayed = ready.length > 0 ? [] : ((await partialTransfer?.delayed(queue, most)) ?? []);
      // Jobs that the goal refused are still in the list.
      const jobs = [...ready, ...delayed.filter(({ message }) => !seen.has(message.id))];
      for (const { message } of jobs) seen.add(message.id);
      return jobs;
    },
    async remove(queue, jobs) {
      if (jobs.length === 0) return [];
      // `take` returns leased jobs or delayed jobs, never both.
      const held = jobs.flatMap((job) => leases.get(job) ?? []);
      if (held.length === 0) return partialTransfer!.removeDelayed(queue, idsOf(jobs));
      const acked = await backend.ack(held.map((lease) => ({ lease })));
      for (const job of jobs) leases.delete(job);
      return acked;
    },
    async release(_, jobs) {
      for (const job of jobs) {
        const lease = leases.get(job); // a delayed job was never leased
        if (lease) await backend.nack(lease, { delayMs: 0, countAttempt: false });
        leases.delete(job);
      }
    },
  };
}

const goesRound = (): LongshoreError =>
  new LongshoreError(
    'OPTION',
    'Jobs came back after they had moved, so both sides are the same queue. Correct one of them.',
  );

/** @param move name of this move */
export function goalOf(backend: QueueBackend, move: string): Goal {
  const { transfer, partialTransfer } = movable(backend);
  if (transfer) return { transfer, keepsPast: true, mostAtOnce: pageSize, put: (jobs) => transfer.put(jobs) };
  return {
    transfer,
    keepsPast: partialTransfer?.put !== undefined,
    mostAtOnce: fewAtOnce,
    put: (jobs) =>
      partialTransfer?.put?.(jobs) ??
      backend.enqueue(jobs.map(({ message }) => ({ ...message, hints: { move } }))),
  };
}

/** Releases all copies. Call it when no job of the queue is held at the origin. */
export async function releaseAll({ transfer }: Goal, queue: string): Promise<void> {
  for (;;) {
    const held = idsOf((await transfer?.held(queue, pageSize)) ?? []);
    if (held.length === 0) return;
    await transfer?.release(queue, held);
  }
}

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

function jobOfLease(lease: JobLease, now: number): MovedJob {
  const { queue, body, attempt, interrupted } = lease;
  const envelope = readEnvelope(body) ?? {};
  return {
    message: {
      // An unreadable job must get the same id each time.
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

/** Since when the job is ready, from its envelope. */
function readySince({ schedule, issuedAt }: Partial<Envelope>, now: number): number {
  return Math.min(now, momentOr(schedule, momentOr(issuedAt, now)));
}

/** @param record from the store of the origin */
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
