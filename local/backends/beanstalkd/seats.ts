/**
 * Where jobs are held. A job of beanstalkd belongs to the connection that has reserved it, and a connection that waits for a job
 * hears nothing else; so whoever waits does so on a connection that holds none. Mostly there are two.
 */

import { type Connection, openConnection } from './connection.ts';
import { refusal } from './errors.ts';
import type { BeanstalkdState } from './index.ts';

export interface Seat {
  readonly connection: Connection;
  /** The tubes that it watches. */
  readonly tubes: string;
  /** How many jobs it holds. One that is being settled is among them: behind a wait the command for it would have to wait too. */
  held: number;
  isWaiting: boolean;
  /** Claims under way. */
  claims: number;
  /** Resolves when the last claim has asked all that it asks, or has failed. */
  asking: Promise<void>;
  /** How many reservations to ask for at once: as many as came the last time. */
  stride: number;
}

export interface Seats {
  /** One to claim on at once. */
  ready(tubes: readonly string[]): Promise<Seat>;
  /** One that holds nothing, for whoever waits: it is theirs until they let go. */
  free(tubes: readonly string[]): Promise<Seat>;
  all(): Iterable<Seat>;
  /** Closes those that nobody needs. */
  tidy(): void;
  close(): void;
}

const mostSpare = 2;

export function createSeats(state: BeanstalkdState, lost: (seat: Seat) => void): Seats {
  const seats = new Set<Seat>();
  const opening = new Map<string, Promise<Seat>>();
  const keyOf = (tubes: readonly string[]): string => [...tubes].sort().join(' ');
  const isIdle = (seat: Seat): boolean => !seat.isWaiting && seat.claims === 0 && seat.held === 0;

  async function open(tubes: readonly string[]): Promise<Seat> {
    const connection = await openConnection(state.place);
    const seat: Seat = {
      connection,
      tubes: keyOf(tubes),
      held: 0,
      isWaiting: false,
      claims: 0,
      asking: Promise.resolve(),
      stride: 4,
    };
    connection.onEnd(() => {
      seats.delete(seat);
      lost(seat);
    });
    const answers = await Promise.all([
      ...tubes.map((tube) => connection.send(`watch ${tube}`)),
      ...(tubes.includes('default') ? [] : [connection.send('ignore default')]),
    ]);
    const refused = answers.find(({ word }) => word !== 'WATCHING');
    if (refused) {
      connection.destroy();
      throw refusal('watching tubes', refused.word);
    }
    if (!state.isOpen()) connection.destroy();
    else seats.add(seat);
    return seat;
  }

  function find(tubes: readonly string[], fits: (seat: Seat) => boolean): Seat | undefined {
    const key = keyOf(tubes);
    return [...seats].find((seat) => seat.tubes === key && seat.connection.isOpen && fits(seat));
  }

  return {
    async ready(tubes) {
      // One that holds something first, so that a free one is left for whoever waits.
      const found =
        find(tubes, (seat) => !seat.isWaiting && seat.held > 0) ?? find(tubes, (seat) => !seat.isWaiting);
      if (found) return found;
      const key = keyOf(tubes);
      let next = opening.get(key);
      if (!next) {
        next = open(tubes).finally(() => opening.delete(key));
        opening.set(key, next);
      }
      return next;
    },
    async free(tubes) {
      const found = find(tubes, isIdle);
      if (found) {
        found.isWaiting = true;
        return found;
      }
      const seat = await open(tubes);
      seat.isWaiting = true;
      return seat;
    },
    all: () => seats,
    tidy() {
      const idle = [...seats].filter(isIdle);
      for (const seat of idle.slice(mostSpare)) seat.connection.destroy();
    },
    close() {
      for (const seat of [...seats]) seat.connection.destroy();
    },
  };
}
