import type { Clock } from '../../../core/base/clock.ts';
import type { Foreign } from '../../../core/contract/foreign.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import type { Credential } from './access.ts';
import type { QueueOptions } from './queues.ts';

export interface ConnectionOptions extends QueueOptions {
  /** `Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…`, of the namespace. Either this or the two below. */
  readonly connectionString?: string;
  /** `shop.servicebus.windows.net`, with `credential`. */
  readonly fullyQualifiedNamespace?: string;
  /** Such as `new DefaultAzureCredential()` of `@azure/identity`. */
  readonly credential?: Credential;
  /**
   * Records that a message is about to be replaced by its next attempt, or by a dead letter. Without it a process that is
   * killed between the two steps leaves both messages. @default no records
   */
  readonly keys?: KeyStore;
  /** How often the SDK tries a request again that failed through no fault of ours. @default 3 */
  readonly maxRetries?: number;
  /** How long one try of a request may take, a receive call longer by its wait. Then another connection is opened. @default 10_000 */
  readonly timeoutMs?: number;
  /** By queue: messages of other programs that are jobs here, by the rules of `foreign()`. @default they are rejected */
  readonly foreign?: Readonly<Record<string, Foreign>>;
  readonly clock?: Clock;
}

export interface ServiceBusOptions extends ConnectionOptions {
  /** How long one receive call may wait, 1_000 to 60_000; `close()` waits as long for the last one. @default 5_000 */
  readonly longPollMs?: number;
  /** UTF-8 bytes. The Premium tier takes larger ones, where its namespace allows it. @default 253_952, for 256 KB */
  readonly maxBodyBytes?: number;
}
