/** State in this process's memory, for queues that keep none: for tests, and for state that may be lost with the process. */

import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { Retention, Stores } from '../../../core/contract/store.ts';
import { recordTable } from '../../../core/kit/in-memory/record-table.ts';
import { recordStore } from '../../../core/kit/records/store.ts';
import { memoryKeys } from './keys.ts';
import { memoryStores, memoryTexts } from './texts.ts';

export interface MemoryStoreOptions {
  /** For tests. @default the system's clock */
  readonly clock?: Clock;
  /** How long ended jobs are kept. @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
}

export function memoryStore({ clock = systemClock, retention }: MemoryStoreOptions = {}): Stores {
  const keys = memoryKeys(clock);
  const texts = memoryTexts(clock);
  return {
    keys,
    records: recordStore(
      recordTable(() => keys.purgeEnded() + texts.purgeEnded()),
      { clock, retention },
    ),
    ...memoryStores(texts, clock),
  };
}
