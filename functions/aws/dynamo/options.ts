import type { Clock } from '../../../core/base/clock.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { SdkClient } from '../sdk-client.ts';

export interface DynamoTableOptions {
  readonly table: string;
  /** Your own `DynamoDBClient`; `close()` leaves it open. @default one of our own, set up by the usual AWS variables */
  readonly client?: SdkClient;
  readonly region?: string;
  /** Instead of AWS, for example `http://127.0.0.1:8000`. */
  readonly endpoint?: string;
}

export interface DynamoStoreOptions extends DynamoTableOptions {
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  readonly clock?: Clock;
}
