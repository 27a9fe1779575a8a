/**
 * The jobs that this process holds, found by the token of their lease, which names their place. Not a Map, for the reason that
 * core/worker/run-list.ts gives: with one, what was ever in it outlives the young generation.
 */

import { randomBytes } from 'node:crypto';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { JobNote } from './counting.ts';
import type { Seat } from './seats.ts';
import type { JobStats } from './stats.ts';

/** A lease and what beanstalkd knows of it. */
export interface Held {
  readonly lease: JobLease;
  readonly seat: Seat;
  readonly jobId: number;
  readonly stats: JobStats;
  readonly note: JobNote | null;
  /** When the lease ends, epoch ms. */
  endsAt: number;
  /** Until then the server leaves it to us, at least. */
  heldUntil: number;
  /** Somebody settles it: nobody else may. */
  isTaken: boolean;
}

export class HeldJobs implements Iterable<Held> {
  // Unlike that of any other process, and of this one before.
  readonly #series = randomBytes(9).toString('base64url');
  readonly #places: (Held | null)[] = [];
  readonly #free: number[] = [];
  #count = 0;

  /** Fresh at every call. Its place is kept for the job that is added with it. */
  newToken(): string {
    const place = this.#free.pop() ?? this.#places.push(null) - 1;
    return `${place}.${++this.#count}.${this.#series}`;
  }

  add(held: Held): void {
    this.#places[placeOf(held.lease.token)] = held;
    held.seat.held++;
  }

  /** What may be settled under this token, by whoever takes it. */
  find(token: string): Held | null {
    const held = this.#places[placeOf(token)];
    return held && held.lease.token === token && !held.isTaken ? held : null;
  }

  has(held: Held): boolean {
    return this.find(held.lease.token) === held;
  }

  /** Its place stays its own until it is given back or removed. */
  take(held: Held): void {
    held.isTaken = true;
  }

  giveBack(held: Held): void {
    held.isTaken = false;
  }

  remove(held: Held): void {
    const place = placeOf(held.lease.token);
    if (this.#places[place] !== held) return;
    this.#places[place] = null;
    this.#free.push(place);
    held.seat.held--;
  }

  /** Those of now that nobody settles. */
  [Symbol.iterator](): Iterator<Held> {
    return this.#places.filter((held) => held !== null && !held.isTaken).values() as Iterator<Held>;
  }
}

/** `NaN` for the token of another backend: nothing is there. */
const placeOf = (token: string): number => Number.parseInt(token, 10);
