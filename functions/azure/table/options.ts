import type { Clock } from '../../../core/base/clock.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { StorageOptions } from '../storage/access.ts';

export interface TableStoreOptions extends StorageOptions {
  /** 3 to 63 letters and digits, the first one a letter. */
  readonly table: string;
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  readonly clock?: Clock;
}
