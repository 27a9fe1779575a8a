import type { Clock } from '../../../core/base/clock.ts';
import type { Foreign } from '../../../core/contract/foreign.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import type { SdkClient } from '../sdk-client.ts';
import type { QueueOptions } from './queues.ts';

export interface SchedulerOptions {
  /** The role that EventBridge Scheduler assumes, with sqs:SendMessage on the queues and their dead-letter queues. */
  readonly roleArn: string;
  /** The group of the schedules. @default 'default' */
  readonly groupName?: string;
  /** Instead of AWS. */
  readonly endpoint?: string;
  /** A `SchedulerClient`, instead of one of our own. */
  readonly client?: SdkClient;
}

export interface ConnectionOptions extends QueueOptions {
  /** @default that of the queue's URL, or of AWS_REGION */
  readonly region?: string;
  /** For LocalStack and its like. One on this machine is given no credentials of yours. */
  readonly endpoint?: string;
  /** An `SQSClient`, instead of one of our own; `close()` leaves it open. */
  readonly client?: SdkClient;
  /** Counts deliveries that were no attempts. FIFO queues need it, others do not. */
  readonly keys?: KeyStore;
  /** Delays over 15 minutes by EventBridge Scheduler. @default messages that go round every 15 minutes */
  readonly scheduler?: SchedulerOptions;
  /** By queue: messages of other programs that are jobs here, by the rules of `foreign()`. @default they are rejected */
  readonly foreign?: Readonly<Record<string, Foreign>>;
  readonly clock?: Clock;
}

export interface SqsOptions extends ConnectionOptions {
  /** How long one receive call may wait, 1_000 to 20_000; `close()` waits as long for the last one. @default 5_000 */
  readonly longPollMs?: number;
}
