/** The shared state of the SQLite backend. */

import type { Clock } from '../../../core/base/clock.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { EndWatchers } from '../../../core/kit/records/end-watchers.ts';
import type { Database } from './database.ts';
import type { NarrowRows } from './narrow-rows.ts';

export interface SqliteState {
  readonly db: Database;
  readonly clock: Clock;
  readonly retention: Retention;
  readonly ageingMs: number;
  readonly narrowRows: NarrowRows;
  readonly ends: EndWatchers;
  /** Lets waiting fetches of this process look again. */
  wake(): void;
}

export interface Purgeable {
  /** Call it inside a transaction. Removes one step of expired rows and returns how many. */
  purgeNow(now: number): number;
}
