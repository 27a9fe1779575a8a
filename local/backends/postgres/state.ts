/** What the parts of the Postgres backend share. */

import type { Clock } from '../../../core/base/clock.ts';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { Notifier } from '../shared/notifier.ts';
import type { Database } from './database.ts';

export interface PostgresState {
  readonly db: Database;
  readonly clock: Clock;
  readonly retention: Retention;
  /** Whether completed jobs are kept at all. */
  readonly keep: boolean;
  readonly ageingMs: number;
  /** For NOTIFY; `null` = `listen: false`. */
  readonly channel: string | null;
  readonly knownQueues: Set<string>;
  /** Epoch ms for a test; `null` = the database's clock rules. */
  at(): number | null;
  /** In how many ms a message may run; 0 = now. */
  delayOf(message: Pick<OutgoingMessage, 'notBefore'>): number;
  /** Decides which queues an enqueue has to name in a NOTIFY. */
  readonly notifier: Notifier;
  /** Sends a NOTIFY for each queue now, if workers listen. */
  notify(queues: readonly string[]): Promise<void>;
  /** Lets waiting fetches of this process look again, of one queue or of all. */
  wake(queue?: string): void;
  /** Wakes workers of these queues, of this process and, soon, of others: for jobs that are in the database already. */
  wakeAll(queues: Iterable<string>): void;
}
