/**
 * Support for `longshore move`, besides fetching and enqueueing: reads delayed jobs, of which beanstalkd shows only the next one, and puts
 * jobs that are buried or have attempts before a worker can reserve them.
 */

import type { LongshoreError } from '../../../core/base/errors.ts';
import type { JobSender, SendResult } from '../../../core/contract/queue.ts';
import type { Envelope } from '../../../core/envelope/envelope.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import type { MovedJob, PartialTransfer } from '../../move/contract.ts';
import { addDeadLetter } from './dead-letters.ts';
import { envelopeIn, infoOf, markOf, rankOf, secondsOf } from './job.ts';
import { attemptOf, newMetadata, readMetadata, writeMetadata } from './job-metadata.ts';
import { refusal, textOf } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

/** Delay of a job that no worker must see yet: the longest possible. */
const hiddenSeconds = 2 ** 32 - 1;
/** Longer than the delay of any job. A job with more time left was hidden by a move that was killed, which then put it again. */
const neverSeconds = 2 ** 31;

export function beanstalkdTransfer(state: BeanstalkdState, enqueue: JobSender['enqueue']): PartialTransfer {
  const { link, clock, ageingMs, maxBodyBytes, ttrMs } = state;
  /** Numbers of the delayed jobs that were listed, by id. */
  const shown = new Map<string, number>();

  async function putHidden({ message, death }: MovedJob): Promise<{ jobId: number; rank: number }> {
    const { body, queue, priority } = message;
    const error = tooLarge(body, maxBodyBytes);
    if (error) throw error;
    const rank = rankOf(death?.at ?? Math.max(clock.now(), message.notBefore ?? 0), priority, ageingMs);
    const jobId = await link.put(state.tubeOf(queue), [rank, hiddenSeconds, secondsOf(ttrMs)], body);
    return { jobId, rank };
  }

  async function send(line: string, expected: string): Promise<void> {
    const { word } = await link.send(line);
    if (word !== expected) throw refusal('moving a job', word);
  }

  async function putDead(job: MovedJob, death: NonNullable<MovedJob['death']>): Promise<void> {
    const { id, queue, job: name, body } = job.message;
    const { jobId, rank } = await putHidden(job);
    const { reason, error, at: diedAt } = death;
    const entry = { jobId, mark: markOf(body), id, job: name, reason, error, attempt: job.attempts, diedAt };
    await addDeadLetter(state, state.tubeOf(queue), entry);
    await send(`reserve-job ${jobId}`, 'RESERVED');
    await send(`bury ${jobId} ${rank}`, 'BURIED');
  }

  /** Metadata is read only for jobs that were reserved before. So the job is reserved once, and its metadata does not count this. */
  async function putWaiting(job: MovedJob): Promise<void> {
    const { body, notBefore } = job.message;
    const { jobId, rank } = await putHidden(job);
    const uncounted = 1 - job.attempts;
    await writeMetadata(state, jobId, { ...newMetadata(body), uncounted, expired: job.interrupted });
    await send(`reserve-job ${jobId}`, 'RESERVED');
    const delayMs = Math.max(0, (notBefore ?? 0) - clock.now());
    await send(`release ${jobId} ${rank} ${secondsOf(delayMs)}`, 'RELEASED');
  }

  async function putOne(job: MovedJob): Promise<SendResult> {
    const { id } = job.message;
    try {
      await (job.death ? putDead(job, job.death) : putWaiting(job));
      return { ok: true, id, duplicate: false };
    } catch (error) {
      return { ok: false, id, error: error as LongshoreError };
    }
  }

  async function put(jobs: readonly MovedJob[]): Promise<SendResult[]> {
    const results = new Map<MovedJob, SendResult>();
    const plain = jobs.filter(({ attempts, interrupted, death }) => attempts === 0 && !interrupted && !death);
    const sent = await enqueue(plain.map(({ message }) => message));
    for (const [i, job] of plain.entries()) results.set(job, sent[i]!);
    // Dead letters are listed newest first, but pages are written oldest first.
    const [dead, alive] = [jobs.filter(({ death }) => death), jobs.filter(({ death }) => !death)];
    for (const job of [...alive, ...dead.toReversed()])
      if (!results.has(job)) results.set(job, await putOne(job));
    return jobs.map((job) => results.get(job)!);
  }

  async function nextDelayed(queue: string): Promise<MovedJob | null> {
    const peeked = await link.peek('peek-delayed', state.tubeOf(queue));
    if (!peeked) return null;
    const { jobId } = peeked;
    const stats = await link.jobStats(jobId);
    if (stats?.state !== 'delayed' || stats.leftSeconds > neverSeconds) return null;
    const body = textOf(peeked.data);
    const metadata = stats.reserves > 0 ? await readMetadata(state, jobId, body) : null;
    const { attempt, interrupted } = attemptOf({ ...stats, reserves: stats.reserves + 1 }, metadata);
    const { id, job, priority } = infoOf(body, jobId);
    const { schedule, issuedAt, context } = envelopeIn(body) as Partial<Envelope>;
    shown.set(id, jobId);
    // The server counts whole seconds. The envelope has the exact time, unless the job was delayed again.
    const readyAt = clock.now() + stats.leftSeconds * 1_000;
    const isExact = typeof schedule === 'number' && Math.abs(schedule - readyAt) < 2_000;
    return {
      message: {
        ...{ id, job, queue, body, priority, group: null },
        notBefore: isExact ? schedule : readyAt,
        tenantId: context?.tenantId ?? null,
      },
      createdAt: issuedAt ?? clock.now() - stats.ageSeconds * 1_000,
      attempts: attempt - 1,
      interrupted,
      reports: [],
      progress: null,
      death: null,
    };
  }

  return {
    async delayed(queue) {
      const next = await nextDelayed(queue);
      return next ? [next] : [];
    },
    async removeDelayed(_, ids) {
      const gone: boolean[] = [];
      for (const id of ids) {
        const jobId = shown.get(id);
        shown.delete(id);
        if (jobId === undefined || (await link.jobStats(jobId))?.state !== 'delayed') gone.push(false);
        else gone.push((await link.send(`delete ${jobId}`)).word === 'DELETED');
      }
      return gone;
    },
    ...(state.keepsMetadata && { put }),
  };
}
