/** Reserves jobs, at once or by waiting for one, and makes leases of them. */

import type { FetchRequest, JobLease } from '../../../core/contract/queue.ts';
import { lostConnection } from './connection.ts';
import { countOf, type JobNote, readNote } from './counting.ts';
import { refusal } from './errors.ts';
import type { BeanstalkdState } from './index.ts';
import type { Leases } from './leases.ts';
import { type Reply, textOf } from './replies.ts';
import type { Seat, Seats } from './seats.ts';
import { type JobStats, jobStatsOf } from './stats.ts';

type Request = Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>;

/** Reservations that are asked for in one go. */
const mostAtOnce = 500;
const perPart = 32;
/** A claim of more brings half of it. */
const fewJobs = 32;
/** Nothing there, or a lease of this connection is near its end and nothing there. */
const noJob = new Set(['TIMED_OUT', 'DEADLINE_SOON']);
/** A server ends a wait by its own clock; only one that is late is told to. */
const lateMs = 500;

export interface Claiming {
  /** What is ready now, of many half of `max` at most: while one half runs, the server deletes the other. */
  claim(request: Request): Promise<JobLease[]>;
  /** One that comes within `waitMs`. */
  wait(request: Request & { waitMs: number; signal?: AbortSignal | undefined }): Promise<JobLease[]>;
  /** Ends all waits. */
  close(): void;
}

export function createClaiming(state: BeanstalkdState, seats: Seats, leases: Leases): Claiming {
  const { clock } = state;
  const waiting = new Set<() => void>();

  /** Makes leases of jobs that this connection has reserved: of all of them, or all of them go back. */
  async function reserved(seat: Seat, jobs: readonly Reply[], leaseMs: number): Promise<JobLease[]> {
    const made: JobLease[] = [];
    seat.claims++; // nobody may wait here
    try {
      await makeLeases(seat, jobs, leaseMs, made);
    } catch (error) {
      await handBack(made.filter(Boolean));
      // Those whose attempts are not known: this one counts.
      const others = jobs.filter((_, i) => !made[i]);
      await Promise.allSettled(
        others.map(({ number, data }) => leases.release(seat, number, textOf(data!), 0)),
      );
      throw error;
    } finally {
      seat.claims--;
    }
    return made.filter(Boolean);
  }

  /** @param made takes the leases, each at the place of its job */
  async function makeLeases(
    seat: Seat,
    jobs: readonly Reply[],
    leaseMs: number,
    made: JobLease[],
  ): Promise<void> {
    const askedAt = clock.now();
    const answers = await all(
      seat,
      jobs.map(({ number }) => `stats-job ${number}`),
    );
    const expiresAt = clock.now() + leaseMs;
    const slow: Promise<void>[] = [];
    let odd: string | null = null;
    const make = (i: number, body: string, stats: JobStats, note: JobNote | null): Promise<void> | null => {
      const { attempt, interrupted } = countOf(stats, note);
      const queue = state.queueOf(stats.tube);
      const lease = { queue, body, attempt, token: leases.newToken(), expiresAt, interrupted };
      const heldUntil = askedAt + stats.leftSeconds * 1_000;
      const { number: jobId } = jobs[i]!;
      made[i] = lease;
      return leases.add({ lease, seat, jobId, stats, note, endsAt: expiresAt, heldUntil, isTaken: false });
    };
    for (let i = 0; i < jobs.length; i++) {
      const { word, data } = answers[i]!;
      if (word === 'NOT_FOUND') continue; // deleted by somebody else's hand
      if (word !== 'OK') {
        odd ??= word;
        continue;
      }
      const { number: jobId, data: bytes } = jobs[i]!;
      const body = textOf(bytes!);
      const stats = jobStatsOf(data!);
      // The first attempt of a job has no note. Of others it is best effort: without it none of the reservations is left out.
      const making =
        stats.reserves > 1
          ? readNote(state, jobId, body)
              .catch(state.noteFailed)
              .then((note) => make(i, body, stats, note) ?? undefined)
          : make(i, body, stats, null);
      if (making) slow.push(making);
    }
    if (slow.length > 0) await allOf(slow);
    if (odd !== null) throw refusal('asking for the attempts of a job', odd);
  }

  async function all(seat: Seat, commands: readonly string[]): Promise<readonly Reply[]> {
    const replies = await seat.connection.sendAll(commands);
    if (replies.length < commands.length) throw lostConnection(seat.connection.reason);
    return replies;
  }

  /** What cannot be handed back returns with its connection, or when its time is up. */
  async function handBack(taken: readonly JobLease[]): Promise<void> {
    await Promise.allSettled(taken.map((lease) => leases.nack(lease, { delayMs: 0, countAttempt: false })));
  }

  async function claimOn(seat: Seat, max: number, leaseMs: number): Promise<JobLease[]> {
    const coming: Promise<JobLease[]>[] = [];
    const asked = Promise.withResolvers<void>();
    let wanted = max > fewJobs ? Math.ceil(max / 2) : max;
    seat.claims++;
    seat.asking = asked.promise;
    try {
      for (let isEmpty = false; !isEmpty && wanted > 0; ) {
        const count = Math.min(wanted, seat.stride);
        let got = 0;
        // In parts, so that the server has something to do while the attempts of the first are asked for.
        const parts: Promise<void>[] = [];
        for (let left = count; left > 0; left -= perPart) {
          const part = all(seat, new Array<string>(Math.min(left, perPart)).fill('reserve-with-timeout 0'));
          parts.push(
            part.then((answers) => {
              const jobs = answers.filter(({ word }) => word === 'RESERVED');
              got += jobs.length;
              if (jobs.length > 0) coming.push(reserved(seat, jobs, leaseMs));
              const odd = answers.find(({ word }) => word !== 'RESERVED' && !noJob.has(word));
              if (odd) throw refusal('reserving jobs', odd.word);
            }),
          );
        }
        await allOf(parts);
        isEmpty = got < count;
        wanted -= got;
        seat.stride = isEmpty ? Math.max(4, got + 1) : Math.min(mostAtOnce, seat.stride * 4);
      }
      asked.resolve();
      return (await allOf(coming)).flat();
    } catch (error) {
      // None of the others may wait for the end of a lease that nobody knows.
      const done = await Promise.allSettled(coming);
      await handBack(done.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])));
      throw error;
    } finally {
      seat.claims--;
      asked.resolve();
    }
  }

  return {
    async claim({ queues, max, leaseMs }) {
      return claimOn(await seats.ready(queues.map(state.tubeOf)), max, leaseMs);
    },

    async wait({ queues, leaseMs, waitMs, signal }) {
      const seat = await seats.free(queues.map(state.tubeOf));
      let coming: Promise<JobLease[]> | null = null;
      let isEnded = false;
      const end = () => {
        if (!waiting.delete(end)) return;
        isEnded = true;
        seat.connection.endWait();
      };
      const cancel = clock.after(waitMs < 1_000 ? waitMs : waitMs + lateMs, end);
      signal?.addEventListener('abort', end);
      /** Later, because it would keep the job waiting for as long as its signature does. */
      const clearAway = () => {
        cancel();
        signal?.removeEventListener('abort', end);
      };
      waiting.add(end);
      try {
        if (signal?.aborted || !state.isOpen()) return [];
        const reply = await seat.connection.wait(Math.max(1, Math.floor(waitMs / 1_000)));
        if (noJob.has(reply.word)) return [];
        if (reply.word !== 'RESERVED') throw refusal('waiting for a job', reply.word);
        // In the last moment: the server takes it back, and gives it to the next who asks.
        if (isEnded) return [];
        coming = reserved(seat, [reply], leaseMs);
      } finally {
        waiting.delete(end);
        seat.isWaiting = false;
        setImmediate(clearAway);
        if (isEnded) seat.connection.destroy();
      }
      return coming;
    },

    close() {
      for (const end of [...waiting]) end();
    },
  };
}

/** As `Promise.all`, but a failure is told when the others have ended too. */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
