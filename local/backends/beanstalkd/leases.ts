/**
 * The leases of this process, and what may be done with them. beanstalkd lets go of a job when its time is up or its connection
 * ends, and lets anybody delete a job that nobody has reserved: so whether a lease still stands is decided here, before the
 * server is asked, and always on the safe side.
 */

import type { Abandon, Ack, JobLease, JobSettler } from '../../../core/contract/queue.ts';
import { lostConnection } from './connection.ts';
import { noNote, writeNote } from './counting.ts';
import { refusal } from './errors.ts';
import { factsOf, markOf } from './facts.ts';
import { type Held, HeldJobs } from './held.ts';
import type { BeanstalkdState } from './index.ts';
import { addLetter } from './letters.ts';
import { rankOf, secondsOf } from './rank.ts';
import type { Seat } from './seats.ts';

export interface Leases extends JobSettler {
  newToken(): string;
  /** Where that takes a word with the server: resolves when it leaves the job to us for long enough to work with. */
  add(held: Held): Promise<void> | null;
  /** Puts a job back into line that this connection has reserved; `false` if it has not. */
  release(seat: Seat, jobId: number, body: string, delayMs: number): Promise<boolean>;
  /** Its connection has ended, and what it held with it. */
  lose(seat: Seat): void;
  reapExpired(queue: string): Promise<number>;
  close(): void;
}

/** A delete that arrives after the server has let go could hit a job of somebody else's. */
const closeMs = 1_000;
/** An ack that is given up is never asked for again. */
const mostUnsure = 10_000;

export function createLeases(state: BeanstalkdState, lost: (tokens: ReadonlySet<string>) => void): Leases {
  const { clock } = state;
  const jobs = new HeldJobs();
  /** Settled in a batch that failed in part, and so will be asked for again. */
  const confirmed = new Set<string>();
  /** A lost connection has taken the answer to their delete with it: their numbers, by token. */
  const unsure = new Map<string, number>();
  let cancelKeeping: (() => void) | null = null;
  let keepingAt = Number.POSITIVE_INFINITY;

  const isOpen = ({ endsAt, heldUntil }: Held): boolean => Math.min(endsAt, heldUntil) > clock.now();
  const ttrMsOf = ({ stats }: Held): number => Math.max(1, stats.ttrSeconds) * 1_000;

  /** Takes the right to settle. */
  function take({ token }: JobLease): Held | null {
    const held = jobs.find(token);
    if (!held || !isOpen(held)) return null;
    jobs.take(held);
    return held;
  }

  /** Settling has failed and the connection stands: the right is given back. */
  function untake(held: Held): void {
    if (held.seat.connection.isOpen) jobs.giveBack(held);
    else jobs.remove(held);
  }

  async function touch(held: Held): Promise<boolean> {
    const sentAt = clock.now();
    const { word } = await held.seat.connection.send(`touch ${held.jobId}`);
    if (word === 'TOUCHED') held.heldUntil = Math.max(held.heldUntil, sentAt + ttrMsOf(held));
    else if (word !== 'NOT_FOUND') throw refusal('touching a job', word);
    return word === 'TOUCHED';
  }

  /** The time that a job was given when it was put may be shorter than its lease: it is touched halfway. */
  function keepUp(held: Held): void {
    const dueAt = held.heldUntil - ttrMsOf(held) / 2;
    if (dueAt >= held.endsAt || dueAt >= keepingAt) return;
    cancelKeeping?.();
    keepingAt = dueAt;
    cancelKeeping = clock.after(Math.max(0, dueAt - clock.now()), () => {
      keepingAt = Number.POSITIVE_INFINITY;
      cancelKeeping = null;
      void touchDue();
    });
  }

  async function touchDue(): Promise<void> {
    const now = clock.now();
    const open = [...jobs].filter(({ endsAt }) => endsAt > now);
    const due = open.filter((held) => held.heldUntil - ttrMsOf(held) / 2 <= now);
    const answers = await Promise.allSettled(due.map(touch));
    const gone = due.filter((_, i) => {
      const answer = answers[i]!;
      return answer.status === 'fulfilled' && !answer.value;
    });
    lose(gone);
    for (const held of open) if (jobs.has(held)) keepUp(held);
  }

  function lose(gone: readonly Held[]): void {
    const mine = gone.filter((held) => jobs.has(held));
    for (const held of mine) jobs.remove(held);
    if (mine.length > 0) lost(new Set(mine.map(({ lease }) => lease.token)));
  }

  /** One command that ends a lease. `null` = the lease was lost before. */
  async function settle(held: Held, line: string, good: string, during: string): Promise<boolean> {
    const { word } = await held.seat.connection.send(line);
    if (word === good) return true;
    if (word === 'NOT_FOUND') return false;
    throw refusal(during, word);
  }

  async function remove(held: Held): Promise<boolean> {
    if (held.heldUntil - clock.now() < Math.min(closeMs, ttrMsOf(held) / 4) && !(await touch(held)))
      return false;
    return settle(held, `delete ${held.jobId}`, 'DELETED', 'deleting a job');
  }

  async function release(seat: Seat, jobId: number, body: string, delayMs: number): Promise<boolean> {
    const rank = rankOf(clock.now() + delayMs, factsOf(body, jobId).priority, state.ageingMs);
    const line = `release ${jobId} ${rank} ${secondsOf(delayMs)}`;
    const { word } = await seat.connection.send(line);
    if (word === 'BURIED') {
      // No memory to put it into line: buried it would stay for ever.
      const again = await seat.connection.send(`kick-job ${jobId}`);
      if (again.word !== 'KICKED') throw refusal('releasing a job', 'OUT_OF_MEMORY');
      return true;
    }
    if (word === 'NOT_FOUND') return false;
    if (word !== 'RELEASED') throw refusal('releasing a job', word);
    return true;
  }

  async function settleWith(held: Held | null, how: (held: Held) => Promise<boolean>): Promise<boolean> {
    if (!held) return false;
    try {
      const isSettled = await how(held);
      jobs.remove(held);
      return isSettled;
    } catch (error) {
      untake(held);
      throw error;
    }
  }

  async function ackOne({ lease, complete }: Ack): Promise<boolean> {
    if (confirmed.delete(lease.token)) return true;
    const jobId = unsure.get(lease.token);
    if (jobId !== undefined) return wasDeleted(lease.token, jobId);
    return settleWith(take(lease), async (held) => {
      if (complete) {
        const { key, owner, ...done } = complete;
        // The key first: a job that returns with its key done is skipped.
        if (!(await state.keys.complete(key, owner, done))) return false;
      }
      try {
        return await remove(held);
      } catch (error) {
        if (!held.seat.connection.isOpen) unsure.set(lease.token, held.jobId);
        throw error;
      }
    });
  }

  const isLate = (held: Held): boolean => held.heldUntil - clock.now() < Math.min(closeMs, ttrMsOf(held) / 4);

  /** The usual batch, of one connection and with nothing beside the deletes: as one. `null` = it is not, and nothing was done. */
  async function ackPlain(acks: readonly Ack[]): Promise<boolean[] | null> {
    const [first] = acks;
    const seat = first && jobs.find(first.lease.token)?.seat;
    // Behind what a claim asks: then the server deletes these jobs while the claimed ones run, and not while a worker waits for them.
    await seat?.asking;
    const mine = acks.map(({ lease, complete }) => (complete ? null : jobs.find(lease.token)));
    const fits = mine.every((held) => held && held.seat === seat && isOpen(held) && !isLate(held));
    if (!seat || !fits || new Set(mine).size < mine.length) return null;
    const open = mine as Held[];
    for (const held of open) jobs.take(held);
    const replies = await seat.connection.sendAll(open.map(({ jobId }) => `delete ${jobId}`));
    const odd = replies.find(({ word }) => word !== 'DELETED' && word !== 'NOT_FOUND');
    if (replies.length === open.length && !odd) {
      for (const held of open) jobs.remove(held);
      return replies.map(({ word }) => word === 'DELETED');
    }
    for (const [i, held] of open.entries()) {
      const word = replies[i]?.word;
      if (word === 'DELETED') confirmed.add(held.lease.token);
      else if (word === undefined) unsure.set(held.lease.token, held.jobId);
      if (word === undefined || word === 'DELETED' || word === 'NOT_FOUND') jobs.remove(held);
      else untake(held);
    }
    throw odd ? refusal('deleting jobs', odd.word) : lostConnection(seat.connection.reason);
  }

  /** Asked when an ack is repeated: what is still there was not deleted, and belongs to the next who takes it. */
  async function wasDeleted(token: string, jobId: number): Promise<boolean> {
    const stats = await state.link.jobStats(jobId);
    unsure.delete(token);
    return stats === null;
  }

  async function bury(held: Held, { reason, error }: Abandon): Promise<boolean> {
    const { lease, jobId, stats } = held;
    const { id, job, priority } = factsOf(lease.body, jobId);
    const diedAt = clock.now();
    const letter = {
      jobId,
      mark: markOf(lease.body),
      id,
      job,
      reason,
      error,
      attempt: lease.attempt,
      diedAt,
    };
    await addLetter(state, stats.tube, letter);
    const rank = rankOf(diedAt, priority, state.ageingMs);
    return settle(held, `bury ${jobId} ${rank}`, 'BURIED', 'burying a job');
  }

  return {
    newToken: () => jobs.newToken(),

    add(held) {
      if (unsure.size > mostUnsure) unsure.clear();
      jobs.add(held);
      if (!held.seat.connection.isOpen) {
        jobs.remove(held);
        return null;
      }
      // Seconds are cut off: of a short time there may be nothing left to see.
      if (held.heldUntil - clock.now() < ttrMsOf(held) / 2) return touch(held).then(() => keepUp(held));
      keepUp(held);
      return null;
    },

    release,

    lose: (seat) => lose([...jobs].filter((held) => held.seat === seat)),

    async ack(acks) {
      const plain = await ackPlain(acks);
      if (plain) return plain;
      const answers = await Promise.allSettled(acks.map(ackOne));
      const failed = answers.find((answer) => answer.status === 'rejected');
      if (!failed) return answers.map((answer) => answer.status === 'fulfilled' && answer.value);
      for (const [i, { lease }] of acks.entries()) {
        const answer = answers[i]!;
        if (answer.status === 'fulfilled' && answer.value) confirmed.add(lease.token);
      }
      throw failed.reason;
    },

    nack: (lease, { delayMs, countAttempt }) =>
      settleWith(take(lease), async (held) => {
        const { jobId, stats, note } = held;
        const old = note ?? { ...noNote, mark: markOf(lease.body) };
        const isTold = !old.expired && old.told === stats.losses;
        const next = countAttempt
          ? { ...old, told: stats.losses, expired: false }
          : { ...old, uncounted: old.uncounted + 1 };
        // Before the release, because the next owner reads it.
        if (!countAttempt || !isTold) await writeNote(state, jobId, next).catch(state.noteFailed);
        return release(held.seat, jobId, lease.body, delayMs);
      }),

    abandon: (lease, why) =>
      settleWith(take(lease), (held) => (why.reason === 'cancelled' ? remove(held) : bury(held, why))),

    async renew(leases, leaseMs) {
      const open = leases.map(({ token }) => {
        const held = jobs.find(token);
        return held && isOpen(held) ? held : null;
      });
      const endsAt = clock.now() + leaseMs;
      const answers = await Promise.allSettled(open.map((held) => held && touch(held)));
      return open.map((held, i) => {
        const answer = answers[i]!;
        if (!held || answer.status === 'rejected') return false;
        if (!answer.value) {
          lose([held]);
          return false;
        }
        held.endsAt = endsAt;
        keepUp(held);
        return true;
      });
    },

    /** Of this process: what others hold goes back with their connection, or when its time is up. */
    async reapExpired(queue) {
      const now = clock.now();
      const expired = [...jobs].filter(({ lease, endsAt }) => lease.queue === queue && endsAt <= now);
      const answers = await Promise.all(
        expired.map(async (held) => {
          jobs.take(held);
          const { jobId, stats, note, lease } = held;
          const old = note ?? { ...noNote, mark: markOf(lease.body) };
          const next = { ...old, told: stats.losses, expired: true };
          await writeNote(state, jobId, next).catch(state.noteFailed);
          const isReleased = await release(held.seat, jobId, lease.body, 0).catch(() => false); // then the server does it, when its time is up
          jobs.remove(held);
          return isReleased;
        }),
      );
      return answers.filter(Boolean).length;
    },

    close() {
      cancelKeeping?.();
      keepingAt = Number.NEGATIVE_INFINITY;
      for (const held of jobs) jobs.remove(held);
    },
  };
}
