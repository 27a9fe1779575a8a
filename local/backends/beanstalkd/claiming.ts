/** Reserves jobs, at once or by waiting for one, and makes leases of them. */

import type { FetchRequest, JobLease } from '../../../core/contract.ts';
import { countOf, readNote } from './counting.ts';
import { refusal } from './errors.ts';
import type { BeanstalkdState } from './index.ts';
import type { Leases } from './leases.ts';
import type { Reply } from './replies.ts';
import type { Seat, Seats } from './seats.ts';
import { jobStatsOf } from './stats.ts';

type Request = Pick<FetchRequest, 'queues' | 'max' | 'leaseMs'>;

/** Reservations that are asked for in one go. */
const mostAtOnce = 500;
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

  async function reserved(seat: Seat, reply: Reply, leaseMs: number): Promise<JobLease | null> {
    const { number: jobId, data } = reply;
    const body = data!.toString('utf8');
    const askedAt = clock.now();
    const answer = await seat.connection.send(`stats-job ${jobId}`);
    if (answer.word === 'NOT_FOUND') return null; // deleted by somebody else's hand
    if (answer.word !== 'OK') throw refusal('asking for the attempts of a job', answer.word);
    const stats = jobStatsOf(answer.data!);
    // An attempt too many would be the death of a job; so without the note none of its reservations is left out.
    const note = stats.reserves > 1 ? await readNote(state, jobId, body).catch(state.noteFailed) : null;
    const expiresAt = clock.now() + leaseMs;
    const { attempt, interrupted } = countOf(stats, note);
    const queue = state.queueOf(stats.tube);
    const lease: JobLease = { queue, body, attempt, token: leases.newToken(jobId), expiresAt, interrupted };
    const heldUntil = askedAt + stats.leftSeconds * 1_000;
    await leases.add({ lease, seat, jobId, stats, note, endsAt: expiresAt, heldUntil });
    return lease;
  }

  async function claimOn(seat: Seat, max: number, leaseMs: number): Promise<JobLease[]> {
    const coming: Promise<JobLease | null>[] = [];
    seat.claims++;
    try {
      for (let isEmpty = false; !isEmpty && coming.length < max; ) {
        const count = Math.min(max - coming.length, seat.stride);
        const before = coming.length;
        const asked = Array.from({ length: count }, () => seat.connection.send('reserve-with-timeout 0'));
        const answers = await Promise.all(asked);
        for (const reply of answers) {
          if (reply.word === 'RESERVED') coming.push(reserved(seat, reply, leaseMs));
          else if (noJob.has(reply.word)) isEmpty = true;
          else throw refusal('reserving jobs', reply.word);
        }
        const got = coming.length - before;
        seat.stride = isEmpty ? Math.max(4, got + 1) : Math.min(mostAtOnce, seat.stride * 4);
      }
      return (await Promise.all(coming)).filter((lease) => lease !== null);
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
        const lease = await reserved(seat, reply, leaseMs);
        return lease ? [lease] : [];
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
