/** Several backends of one app, by name. All programs load this, so it is short. */

import { config } from '../base/errors.ts';
import type { QueueBackend } from '../contract/queue.ts';
import type { App } from '../kernel/app/app.ts';

/** All that the app has. `default` is for jobs and queues that name none; `null` = this process does not use it. */
export interface Backends {
  readonly default: QueueBackend | null;
  readonly [name: string]: QueueBackend | null;
}

export const isBackend = (one: QueueBackend | Backends): one is QueueBackend =>
  typeof one?.enqueue === 'function';

/** Throws `CONFIG` unless a name is one of these. */
export function checkGiven(whose: string, name: string | null, names: readonly string[]): void {
  if (name !== null && !names.includes(name))
    throw config(
      `${whose} names backend "${name}", but given is ${names.join(', ') || 'none by name'}. Give connect() all backends by name, null for one that this process does not use.`,
    );
}

/** Throws `CONFIG` for a job or a queue with a backend that is none of these. */
export function checkNamed({ jobs, queueRules }: App, names: readonly string[]): void {
  for (const [name, { backend }] of jobs) checkGiven(`Job or queue "${name}"`, backend, names);
  for (const [name, { backends }] of queueRules)
    for (const backend of backends) checkGiven(`Job or queue "${name}"`, backend, names);
}
