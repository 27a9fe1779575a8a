/** How far the clock of this host is from the queue's. What a message says of times is said by the queue's clock. */

import type { Clock } from '../../base/clock.ts';
import type { QueueBackend, SqlTransaction } from '../../contract/queue.ts';
import type { Job } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import type { Client } from './client.ts';

interface Answer {
  /** By this host's clock. */
  readonly at: number;
  readonly skewMs: number;
}

/** Whose times are asked for. */
export interface TimedClient extends Pick<Client, 'app' | 'backend'> {
  /** Says it instead, unless in a transaction: while its backend does not answer, the clock of another one counts. */
  readonly aheadMs?: () => number | Promise<number>;
}

const askAgainMs = 60_000;
/** A smaller difference may be the way to the server and back. */
const leastSkewMs = 1_000;
const answers = new WeakMap<QueueBackend, Answer>();
const asking = new WeakMap<QueueBackend, Promise<number>>();

/** By how many ms the queue's clock is ahead. Not asked for messages that say nothing of times. */
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
  // A transaction asks by itself: others may be waiting for the connection that it holds.
  if (tx) return typeof tx.query === 'function' ? ask(app.clock, backend, tx) : 0;
  const answer = asking.get(backend) ?? ask(app.clock, backend).finally(() => asking.delete(backend));
  asking.set(backend, answer);
  return answer;
}

async function ask(clock: Clock, backend: QueueBackend, tx?: SqlTransaction): Promise<number> {
  const theirs = await backend.now!(tx);
  // After the answer: then the message never says a later time than the queue will hold it back for.
  const at = clock.now();
  const differenceMs = Math.floor(theirs - at);
  const skewMs = Math.abs(differenceMs) < leastSkewMs ? 0 : differenceMs;
  answers.set(backend, { at, skewMs });
  return skewMs;
}

/** By how many ms the queue's clock was ahead within the last minute. */
export const aheadMsOf = (client: Pick<Client, 'app' | 'backend'>): number | Promise<number> =>
  skewOf(client, { expiresInMs: null }, { delayMs: 0 });

/** As `nowOf`, from that. */
export const knownNow = async (client: Pick<Client, 'app' | 'backend'>): Promise<number> =>
  client.app.clock.now() + (await aheadMsOf(client));

/** By the queue's clock, where it has one. For calls that are rare: it is asked each time. */
export const nowOf = async ({ app, backend }: Pick<Client, 'app' | 'backend'>): Promise<number> =>
  (await backend.now?.()) ?? app.clock.now();
