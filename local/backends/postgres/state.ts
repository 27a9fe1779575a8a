/** The shared state of the Postgres backend. */

import type { Clock } from '../../../core/base/clock.ts';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { Notifier } from '../shared/notifier.ts';
import type { Database } from './database.ts';
import type { Floors } from './front.ts';

export interface PostgresState {
  readonly db: Database;
  readonly clock: Clock;
  readonly retention: Retention;
  /** Whether completed jobs are kept at all. */
  readonly keep: boolean;
  readonly ageingMs: number;
  /** The channel for NOTIFY; `null` = `listen: false`. */
  readonly channel: string | null;
  readonly knownQueues: Set<string>;
  /** Epoch ms for a test; `null` = use the database's clock. */
  at(): number | null;
  /** The delay of a message, ms; 0 = ready now. */
  delayOf(message: Pick<OutgoingMessage, 'notBefore'>): number;
  readonly floors: Floors;
  /** Decides which queues an enqueue has to name in a NOTIFY. */
  readonly notifier: Notifier;
  /** Sends a NOTIFY for each queue now, if workers listen. */
  notify(queues: readonly string[]): Promise<void>;
  /** Lets waiting fetches of this process look again, for one queue or for all. */
  wake(queue?: string): void;
  /** Wakes the workers of these queues, in this process and soon in others, for jobs that are already in the database. */
  wakeAll(queues: Iterable<string>): void;
}
