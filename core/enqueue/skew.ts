/** How far the clock of this host is from the queue's. What a message says of times is said by the queue's clock. */

import type { Job } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import type { QueueBackend } from '../contract/queue.ts';
import type { Client } from './client.ts';

interface Answer {
  /** When it was asked, by this host's clock. */
  readonly at: number;
  readonly skewMs: Promise<number>;
}

const askAgainMs = 60_000;
/** A smaller difference may be the way to the server and back. */
const leastSkewMs = 1_000;
const answers = new WeakMap<QueueBackend, Answer>();

/** By how many ms the queue's clock is ahead. Not asked for messages that say nothing of times. */
export function skewOf(
  { app, backend }: Pick<Client, 'app' | 'backend'>,
  { expiresInMs }: Job,
  { delayMs, runAt, tx }: EnqueueOptions,
): number | Promise<number> {
  if (!backend.now || (delayMs === undefined && runAt === undefined && expiresInMs === null)) return 0;
  const at = app.clock.now();
  const last = answers.get(backend);
  if (last && Math.abs(at - last.at) < askAgainMs) return last.skewMs;
  // After the answer: then the message never says a later time than the queue will hold it back for.
  const skewMs = backend.now(tx).then((theirs) => Math.floor(theirs - app.clock.now()));
  const answer = { at, skewMs: skewMs.then((ms) => (Math.abs(ms) < leastSkewMs ? 0 : ms)) };
  answers.set(backend, answer);
  answer.skewMs.catch(() => answers.delete(backend));
  return answer.skewMs;
}
