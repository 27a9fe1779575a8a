/**
 * The connections that reserve jobs. A job belongs to the connection that reserved it, and a connection that waits for a job answers
 * no other command. So waits use a connection that holds no job. Usually there are two connections.
 */

import { type Connection, openConnection } from './connection.ts';
import { refusal } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

export interface Consumer {
  readonly connection: Connection;
  /** The watched tubes. */
  readonly tubes: string;
  /** Number of reserved jobs. */
  held: number;
  isWaiting: boolean;
  /** Fetches under way. */
  fetches: number;
  /** Resolves when the last fetch has sent all its reservations, or has failed. */
  reserved: Promise<void>;
  /** How many jobs to reserve at once: as many as came the last time. */
  stride: number;
}

export type Consumers = ReturnType<typeof createConsumers>;

const mostSpare = 2;

export function createConsumers(state: BeanstalkdState, lost: (consumer: Consumer) => void) {
  const consumers = new Set<Consumer>();
  const opening = new Map<string, Promise<Consumer>>();
  const keyOf = (tubes: readonly string[]): string => [...tubes].sort().join(' ');
  const isIdle = (it: Consumer): boolean => !it.isWaiting && it.fetches === 0 && it.held === 0;

  async function open(tubes: readonly string[]): Promise<Consumer> {
    const connection = await openConnection(state.server);
    const consumer: Consumer = {
      connection,
      tubes: keyOf(tubes),
      held: 0,
      isWaiting: false,
      fetches: 0,
      reserved: Promise.resolve(),
      stride: 4,
    };
    connection.onEnd(() => {
      consumers.delete(consumer);
      lost(consumer);
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
    if (!state.isOpen) connection.destroy();
    else consumers.add(consumer);
    return consumer;
  }

  function find(tubes: readonly string[], fits: (consumer: Consumer) => boolean): Consumer | undefined {
    const key = keyOf(tubes);
    return [...consumers].find((it) => it.tubes === key && it.connection.isOpen && fits(it));
  }

  return {
    /** A connection that is not waiting, shared by all fetches that do not wait. */
    async shared(tubes: readonly string[]): Promise<Consumer> {
      // Prefers a connection with jobs, so that an idle one is left for a wait.
      const found = find(tubes, (it) => !it.isWaiting && it.held > 0) ?? find(tubes, (it) => !it.isWaiting);
      if (found) return found;
      const key = keyOf(tubes);
      let next = opening.get(key);
      if (!next) {
        next = open(tubes).finally(() => opening.delete(key));
        opening.set(key, next);
      }
      return next;
    },
    /** A connection without jobs, for a wait. Reserved for the caller until `isWaiting` is false again. */
    async idle(tubes: readonly string[]): Promise<Consumer> {
      const consumer = find(tubes, isIdle) ?? (await open(tubes));
      consumer.isWaiting = true;
      return consumer;
    },
    /** Closes idle connections beyond `mostSpare`. */
    tidy(): void {
      const idle = [...consumers].filter(isIdle);
      for (const { connection } of idle.slice(mostSpare)) connection.destroy();
    },
    close(): void {
      for (const { connection } of [...consumers]) connection.destroy();
    },
  };
}
