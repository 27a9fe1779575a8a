/**
 * Whose worker waits with nothing to do has a seat, and whoever brings the next job hands it over, with a lease in the worker's name:
 * so the worker need not be notified and come for it. docs/decisions.md says what can go wrong, and what then happens.
 */

import { randomBytes } from 'node:crypto';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { Listener } from './ring.ts';
import { bodyOf, lines } from './rows.ts';
import type { Moment, Seating } from './work.ts';

/** A fetch that waits. */
export interface Guest {
  readonly queues: ReadonlySet<string>;
  readonly max: number;
  /** What it was handed. */
  leases: JobLease[];
}

export interface Seats {
  /** Where this process is handed jobs. */
  readonly channel: string;
  enter(queues: readonly string[], max: number): Guest;
  /** A seat until the next look, or `null` where jobs might be lost on their way. */
  seating(untilNextLookMs: number): Seating | null;
  hear(message: string, channel: string): void;
  /** Gives up its seats and hands back what it does not take along. Resolves when nothing can be on its way to it; `null` = nothing is. */
  exit(guest: Guest): Promise<void> | null;
  decline(lease: JobLease): void;
  /** Resolves when all is handed back. Never rejects. */
  close(): Promise<void>;
}

export interface SeatPorts {
  readonly channels: string;
  now(): number;
  /** Of what begins with what its keys begin with. */
  queueOf(key: string): string;
  listener(): Pick<Listener, 'heardAll'>;
  decline(lease: JobLease): Promise<void>;
  leave(queue: string, seat: string): Promise<boolean>;
  /** Wakes who waits. */
  lookAgain(): void;
}

/** The worker looks again before its seat ends, or finds that somebody has taken it. */
const slackMs = 500;

export function createSeats({
  channels,
  now,
  queueOf,
  listener,
  decline,
  leave,
  lookAgain,
}: SeatPorts): Seats {
  const id = randomBytes(9).toString('base64url').slice(0, 11);
  const guests = new Set<Guest>();
  /** Queues where nobody has taken the seat yet, as far as is known. */
  const seated = new Set<string>();
  const leaving = new Set<Promise<unknown>>();
  let moment: Moment | null = null;
  let trusted = true;

  function until<T>(work: Promise<T>): Promise<T | null> {
    const ended = work.catch(() => null).finally(() => leaving.delete(ended));
    leaving.add(ended);
    return ended;
  }

  /** A seat is gone, and no job has come: it is on its way, or the connection has died. No seat is taken until that is known. */
  function doubt(): void {
    if (!trusted) return;
    trusted = false;
    const trust = () => {
      trusted = true;
      lookAgain();
    };
    listener().heardAll().then(trust, trust); // a new connection has heard all that it could
  }

  function take(letter: string): void {
    const [place, till, token, text] = lines(letter, 4) as [string, string, string, string | undefined];
    if (text === undefined) return; // no letter: somebody else has found the channel
    const queue = queueOf(place);
    seated.delete(queue);
    // A worker that was asleep finds its letters late. By our clock the lease ends when it ends by the server's, or earlier.
    const expiresAt = moment ? moment.ours + Number(till) - moment.server : 0;
    const body = bodyOf(text);
    const lease = { queue, body, attempt: 1, token, expiresAt, interrupted: false };
    const leaseMs = Number(till) - Number(token.slice(11, 24));
    if (expiresAt - now() >= leaseMs / 2) {
      for (const { queues, max, leases } of guests) {
        if (queues.has(queue) && leases.length < max) return void leases.push(lease);
      }
    }
    seats.decline(lease);
  }

  async function leaveAll({ queues }: Guest): Promise<void> {
    const shared = (queue: string) => [...guests].some((guest) => guest.queues.has(queue));
    const mine = [...queues].filter((queue) => !shared(queue) && seated.delete(queue));
    const were = await Promise.all(mine.map((queue) => until(leave(queue, id))));
    if (were.every((was) => was === true)) return;
    await until(listener().heardAll());
    await Promise.all(leaving);
  }

  const seats: Seats = {
    channel: channels + id,
    enter(queues, max) {
      const guest: Guest = { queues: new Set(queues), max, leases: [] };
      guests.add(guest);
      return guest;
    },
    seating(untilNextLookMs) {
      if (!trusted) return null;
      const seatMs = `${Math.ceil(untilNextLookMs) + slackMs}`;
      return {
        args: (queue) => [id, seatMs, seated.has(queue) ? '1' : '0'],
        told(queue, seat, at) {
          moment = at;
          if (seat === 1) seated.add(queue);
          else if (seated.delete(queue) && seat === 2) doubt();
        },
      };
    },
    hear(message, channel) {
      // A ring takes all seats of its queue away.
      if (channel !== seats.channel) seated.delete(queueOf(channel));
      else take(message);
    },
    exit(guest) {
      guests.delete(guest);
      for (const lease of guest.leases.splice(0)) seats.decline(lease);
      return seated.size === 0 ? null : leaveAll(guest);
    },
    decline: (lease) => void until(decline(lease)),
    async close() {
      for (const guest of guests) await seats.exit(guest);
      await Promise.all(leaving);
    },
  };
  return seats;
}
