/** The difference between the clocks of this host and of the queue. The times in a message are by the queue's clock. */

import type { Clock } from '../../base/clock.ts';
import type { QueueBackend, SqlTransaction } from '../../contract/queue.ts';
import type { Job } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import type { Client } from './client.ts';

interface Answer {
  /** When the queue answered, by this host's clock. */
  readonly at: number;
  readonly skewMs: number;
}

/** A client that can be asked for the queue's time. */
export interface TimedClient extends Pick<Client, 'app' | 'backend'> {
  /** Used instead of `backend.now`, except in a transaction: while the backend does not answer, the clock of another one counts. */
  readonly aheadMs?: () => number | Promise<number>;
}

const askAgainMs = 60_000;
/** A smaller difference may only be network time. */
const leastSkewMs = 1_000;
const answers = new WeakMap<QueueBackend, Answer>();
const asking = new WeakMap<QueueBackend, Promise<number>>();

/** How many ms the queue's clock is ahead. 0 without asking the queue, if the message contains no times. */
export function skewOf(
  { app, backend, aheadMs }: TimedClient,
  { expiresInMs }: Pick<Job, 'expiresInMs'>,
  { delayMs, runAt, tx }: EnqueueOptions,
): number | Promise<number> {
  if (delayMs === undefined && runAt === undefined && expiresInMs === null) return 0;
  if (aheadMs && tx === undefined) return aheadMs();
  if (!backend.now) return 0;
  const last = answers.get(backend);
  if (last && Math.abs(app.clock.now() - last.at) < askAgainMs) return last.skewMs;
  // A transaction does not share the question of other calls, which may be waiting for its connection.
  if (tx) return typeof tx.query === 'function' ? ask(app.clock, backend, tx) : 0;
  const answer = asking.get(backend) ?? ask(app.clock, backend).finally(() => asking.delete(backend));
  asking.set(backend, answer);
  return answer;
}

async function ask(clock: Clock, backend: QueueBackend, tx?: SqlTransaction): Promise<number> {
  const theirs = await backend.now!(tx);
  // Read after the answer, so that the time in the message is never later than the queue's own delay.
  const at = clock.now();
  const differenceMs = Math.floor(theirs - at);
  const skewMs = Math.abs(differenceMs) < leastSkewMs ? 0 : differenceMs;
  answers.set(backend, { at, skewMs });
  return skewMs;
}

/** How many ms the queue's clock was ahead within the last minute. */
export const aheadMsOf = (client: Pick<Client, 'app' | 'backend'>): number | Promise<number> =>
  skewOf(client, { expiresInMs: null }, { delayMs: 0 });

/** As `nowOf`, from the difference of the last minute. */
export const knownNow = async (client: Pick<Client, 'app' | 'backend'>): Promise<number> =>
  client.app.clock.now() + (await aheadMsOf(client));

/** The time by the queue's clock, if it has one. Asks the queue each time, so only for rare calls. */
export const nowOf = async ({ app, backend }: Pick<Client, 'app' | 'backend'>): Promise<number> =>
  (await backend.now?.()) ?? app.clock.now();
