/** Reserves jobs, at once or by waiting for one, and makes leases of them. */

import type { FetchRequest, JobLease } from '../../../core/contract.ts';
import { lostConnection } from './connection.ts';
import { countOf, type JobNote, readNote } from './counting.ts';
import { refusal } from './errors.ts';
import type { BeanstalkdState } from './index.ts';
import type { Leases } from './leases.ts';
import { type Reply, textOf } from './replies.ts';
import type { Seat, Seats } from './seats.ts';
import { jobStatsOf } from './stats.ts';

type Request = Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>;

/** Reservations that are asked for in one go. */
const mostAtOnce = 500;
const perPart = 32;
/** Nothing there, or a lease of this connection is near its end and nothing there. */
const noJob = new Set(['TIMED_OUT', 'DEADLINE_SOON']);
/** A server ends a wait by its own clock; only one that is late is told to. */
const lateMs = 500;

export interface Claiming {
  /** What is ready now. */
  claim(request: Request): Promise<JobLease[]>;
  /** One that comes within `waitMs`. */
  wait(request: Request & { waitMs: number; signal?: AbortSignal | undefined }): Promise<JobLease[]>;
  /** Ends all waits. */
  close(): void;
}

export function createClaiming(state: BeanstalkdState, seats: Seats, leases: Leases): Claiming {
  const { clock } = state;
  const waiting = new Set<() => void>();

  /** Makes leases of jobs that this connection has reserved. */
  async function reserved(seat: Seat, jobs: readonly Reply[], leaseMs: number): Promise<JobLease[]> {
    const askedAt = clock.now();
    const answers = await all(
      seat,
      jobs.map(({ number }) => `stats-job ${number}`),
    );
    const expiresAt = clock.now() + leaseMs;
    const coming: JobLease[] = [];
    const slow: Promise<void>[] = [];
    for (const [i, { word, data }] of answers.entries()) {
      if (word === 'NOT_FOUND') continue; // deleted by somebody else's hand
      if (word !== 'OK') throw refusal('asking for the attempts of a job', word);
      const { number: jobId, data: bytes } = jobs[i]!;
      const body = textOf(bytes!);
      const stats = jobStatsOf(data!);
      const add = (note: JobNote | null): Promise<void> | null => {
        const { attempt, interrupted } = countOf(stats, note);
        const queue = state.queueOf(stats.tube);
        const token = leases.newToken();
        const lease: JobLease = { queue, body, attempt, token, expiresAt, interrupted };
        const heldUntil = askedAt + stats.leftSeconds * 1_000;
        coming[i] = lease;
        return leases.add({ lease, seat, jobId, stats, note, endsAt: expiresAt, heldUntil, isTaken: false });
      };
      // The first attempt of a job has no note. Of others it is best effort: without it none of the reservations is left out.
      const adding =
        stats.reserves > 1 ? readNote(state, jobId, body).catch(state.noteFailed).then(add) : add(null);
      if (adding) slow.push(adding as Promise<void>);
    }
    if (slow.length > 0) await Promise.all(slow);
    return coming.filter(Boolean);
  }

  async function all(seat: Seat, commands: readonly string[]): Promise<readonly Reply[]> {
    const replies = await seat.connection.sendAll(commands);
    if (replies.length < commands.length) throw lostConnection(seat.connection.reason);
    return replies;
  }

  async function claimOn(seat: Seat, max: number, leaseMs: number): Promise<JobLease[]> {
    const coming: Promise<JobLease[]>[] = [];
    let wanted = max;
    seat.claims++;
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
              const odd = answers.find(({ word }) => word !== 'RESERVED' && !noJob.has(word));
              if (odd) throw refusal('reserving jobs', odd.word);
              got += jobs.length;
              if (jobs.length > 0) coming.push(reserved(seat, jobs, leaseMs));
            }),
          );
        }
        for (const one of parts) one.catch(() => {}); // the first failure is told
        await Promise.all(parts);
        isEmpty = got < count;
        wanted -= got;
        seat.stride = isEmpty ? Math.max(4, got + 1) : Math.min(mostAtOnce, seat.stride * 4);
      }
      return (await Promise.all(coming)).flat();
    } finally {
      seat.claims--;
      for (const one of coming) one.catch(() => {}); // the first failure has been told
    }
  }

  return {
    async claim({ queues, max, leaseMs }) {
      return claimOn(await seats.ready(queues.map(state.tubeOf)), max, leaseMs);
    },

    async wait({ queues, leaseMs, waitMs, signal }) {
      const seat = await seats.free(queues.map(state.tubeOf));
      let isEnded = false;
      const end = () => {
        if (isEnded) return;
        isEnded = true;
        seat.connection.endWait();
      };
      const cancel = clock.after(waitMs < 1_000 ? waitMs : waitMs + lateMs, end);
      signal?.addEventListener('abort', end);
      waiting.add(end);
      try {
        if (signal?.aborted || !state.isOpen()) return [];
        const reply = await seat.connection.wait(Math.max(1, Math.floor(waitMs / 1_000)));
        seat.isWaiting = false;
        if (noJob.has(reply.word)) return [];
        if (reply.word !== 'RESERVED') throw refusal('waiting for a job', reply.word);
        // In the last moment: the server takes it back, and gives it to the next who asks.
        if (isEnded) return [];
        return await reserved(seat, [reply], leaseMs);
      } finally {
        cancel();
        signal?.removeEventListener('abort', end);
        waiting.delete(end);
        seat.isWaiting = false;
        if (isEnded) seat.connection.destroy();
      }
    },

    close() {
      for (const end of [...waiting]) end();
    },
  };
}
