/** Reserves jobs (the ready ones, or the next one to come) and makes leases of them. */

import { steadyNow } from '../../../core/base/clock.ts';
import type { FetchRequest, JobLease } from '../../../core/contract/queue.ts';
import { lostConnection } from './connection.ts';
import type { Consumer, Consumers } from './consumers.ts';
import { type JobStats, jobStatsOf } from './job.ts';
import { attemptOf, type JobMetadata, readMetadata } from './job-metadata.ts';
import { releaseJob } from './lease-table.ts';
import type { Leases } from './leases.ts';
import { type Reply, refusal, textOf } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

type Request = Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>;

/** Reservations per round. */
const mostAtOnce = 500;
const perPart = 32;
/** A request for more jobs gets half of them. */
const fewJobs = 32;
/** Both mean that no job is ready. DEADLINE_SOON: the time of a job on this connection is nearly up. */
const noJob = new Set(['TIMED_OUT', 'DEADLINE_SOON']);
/** The server ends a wait by its own clock. If it is late by this time we end the wait, and after the same time again the connection. */
const lateMs = 500;

export function createLeasing(state: BeanstalkdState, consumers: Consumers, leases: Leases) {
  const { clock } = state;
  const waiting = new Set<() => void>();

  /** Makes leases of jobs that the connection has reserved. If that fails, it releases them all. */
  async function leaseAll(consumer: Consumer, jobs: readonly Reply[], leaseMs: number): Promise<JobLease[]> {
    const made: JobLease[] = [];
    consumer.fetches++; // so that no fetch waits on this connection
    try {
      await makeLeases(consumer, jobs, leaseMs, made);
    } catch (error) {
      await releaseAll(made.filter(Boolean));
      // The attempts of the other jobs are unknown, so this reservation counts as one.
      const others = jobs.filter((_, i) => !made[i]);
      await Promise.allSettled(
        others.map(({ number: jobId, data }) =>
          releaseJob(state, consumer.connection, { jobId, body: textOf(data!), delayMs: 0 }),
        ),
      );
      throw error;
    } finally {
      consumer.fetches--;
    }
    return made.filter(Boolean);
  }

  /** @param made gets the leases, each at the index of its job */
  async function makeLeases(
    consumer: Consumer,
    jobs: readonly Reply[],
    leaseMs: number,
    made: JobLease[],
  ): Promise<void> {
    const askedAt = steadyNow(clock);
    const answers = await all(
      consumer,
      jobs.map(({ number }) => `stats-job ${number}`),
    );
    const expiresAt = clock.now() + leaseMs;
    const slow: Promise<unknown>[] = [];
    let odd: string | null = null;
    const make = (i: number, body: string, stats: JobStats, metadata: JobMetadata | null) => {
      const { number: jobId } = jobs[i]!;
      const { attempt, interrupted } = attemptOf(stats, metadata);
      const queue = state.queueOf(stats.tube);
      const lease = { queue, body, attempt, token: leases.newToken(), expiresAt, interrupted };
      const reservedUntil = askedAt + stats.leftSeconds * 1_000;
      made[i] = lease;
      const endsAt = steadyNow(clock) + leaseMs;
      return leases.add({
        lease,
        consumer,
        jobId,
        stats,
        metadata,
        endsAt,
        reservedUntil,
        isSettling: false,
      });
    };
    for (let i = 0; i < jobs.length; i++) {
      const { word, data } = answers[i]!;
      if (word !== 'OK') {
        if (word !== 'NOT_FOUND') odd = word; // NOT_FOUND: another client has deleted it
        continue;
      }
      const body = textOf(jobs[i]!.data!);
      const stats = jobStatsOf(data!);
      // Before its second reservation a job has no metadata. Without metadata every reservation counts.
      const making =
        stats.reserves > 1
          ? readMetadata(state, jobs[i]!.number, body)
              .catch(state.metadataFailed)
              .then((metadata) => make(i, body, stats, metadata))
          : make(i, body, stats, null);
      if (making) slow.push(making);
    }
    if (slow.length > 0) await allOf(slow);
    if (odd !== null) throw refusal('asking for the attempts of a job', odd);
  }

  async function all(consumer: Consumer, commands: readonly string[]): Promise<readonly Reply[]> {
    const replies = await consumer.connection.sendAll(commands);
    if (replies.length < commands.length) throw lostConnection(consumer.connection.reason);
    return replies;
  }

  /** If a release fails, the server releases the job when the connection ends or its time is up. */
  async function releaseAll(taken: readonly JobLease[]): Promise<void> {
    await Promise.allSettled(taken.map((lease) => leases.nack(lease, { delayMs: 0, countAttempt: false })));
  }

  async function leaseOn(consumer: Consumer, max: number, leaseMs: number): Promise<JobLease[]> {
    const coming: Promise<JobLease[]>[] = [];
    const reserved = Promise.withResolvers<void>();
    let wanted = max > fewJobs ? Math.ceil(max / 2) : max;
    consumer.fetches++;
    consumer.reserved = reserved.promise;
    try {
      for (let isEmpty = false; !isEmpty && wanted > 0; ) {
        const count = Math.min(wanted, consumer.stride);
        let got = 0;
        // In parts, so that the server works on while the attempts of the first part are read.
        const parts: Promise<void>[] = [];
        for (let left = count; left > 0; left -= perPart) {
          const commands = new Array<string>(Math.min(left, perPart)).fill('reserve-with-timeout 0');
          const part = all(consumer, commands).then((answers) => {
            const jobs = answers.filter(({ word }) => word === 'RESERVED');
            got += jobs.length;
            if (jobs.length > 0) coming.push(leaseAll(consumer, jobs, leaseMs));
            const odd = answers.find(({ word }) => word !== 'RESERVED' && !noJob.has(word));
            if (odd) throw refusal('reserving jobs', odd.word);
          });
          parts.push(part);
        }
        await allOf(parts);
        isEmpty = got < count;
        wanted -= got;
        consumer.stride = isEmpty ? Math.max(4, got + 1) : Math.min(mostAtOnce, consumer.stride * 4);
      }
      reserved.resolve();
      return (await allOf(coming)).flat();
    } catch (error) {
      // The caller gets no lease, so all of them must be released.
      const done = await Promise.allSettled(coming);
      await releaseAll(done.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])));
      throw error;
    } finally {
      consumer.fetches--;
      reserved.resolve();
    }
  }

  return {
    /** Leases ready jobs. A large `max` is halved, so that the server deletes one half while the other runs. */
    async lease({ queues, max, leaseMs }: Request): Promise<JobLease[]> {
      return leaseOn(await consumers.shared(queues.map(state.tubeOf)), max, leaseMs);
    },

    /** Leases one job that comes within `waitMs`. */
    async wait({ queues, leaseMs, waitMs, signal }: FetchRequest): Promise<JobLease[]> {
      const consumer = await consumers.idle(queues.map(state.tubeOf));
      const { connection } = consumer;
      let isEnded = false;
      let reply: Reply;
      let cancelEnd = () => {};
      const end = () => {
        isEnded = true;
        connection.endWait();
        cancelEnd = clock.after(lateMs, () => connection.destroy()); // a silent server does not answer that either
      };
      const cancel = clock.after(waitMs < 1_000 ? waitMs : waitMs + lateMs, end);
      signal?.addEventListener('abort', end);
      waiting.add(end);
      try {
        if (signal?.aborted || !state.isOpen) return [];
        reply = await connection.wait(Math.max(1, Math.floor(waitMs / 1_000)));
      } catch (error) {
        if (isEnded) return [];
        throw error;
      } finally {
        cancel();
        cancelEnd();
        signal?.removeEventListener('abort', end);
        waiting.delete(end);
        consumer.isWaiting = false;
        if (isEnded) connection.destroy();
      }
      // The server takes back a job that came at the last moment, and gives it to the next worker.
      if (isEnded || noJob.has(reply.word)) return [];
      if (reply.word !== 'RESERVED') throw refusal('waiting for a job', reply.word);
      return leaseAll(consumer, [reply], leaseMs);
    },

    /** Ends all waits. */
    close(): void {
      for (const end of waiting) end();
    },
  };
}

/** Like `Promise.all`, but rejects only after all promises have settled. */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
