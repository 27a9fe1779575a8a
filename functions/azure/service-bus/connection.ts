/** What all parts of the backend share: the queues, the clock, and the SDK from its first use on. */

import { checkInteger } from '../../../core/base/checks.ts';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { Foreign } from '../../../core/contract/foreign.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { serviceOf } from '../../../core/kit/service.ts';
import type { Access, Credential } from './access.ts';
import { type Administration, openAdministration, type Prepare } from './administration.ts';
import type { ServiceBusApi } from './api.ts';
import { serviceBusError } from './errors.ts';
import { createMessageMetadata } from './metadata.ts';
import { type QueueOptions, resolveQueues } from './queues.ts';
import { openServiceBus } from './sdk.ts';

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

export type Connection = ReturnType<typeof createConnection>;

/**
 * @param access called on first use, so that a setting may be missing until then
 * @param prepare for tests: changes the client of the namespace's administration
 */
export function createConnection(options: ConnectionOptions, access: () => Access, prepare?: Prepare) {
  const { clock = systemClock, maxRetries = 3, timeoutMs = 10_000 } = options;
  checkInteger('maxRetries of serviceBus()', maxRetries, 0);
  checkInteger('timeoutMs of serviceBus()', timeoutMs, 1_000);
  const queues = resolveQueues(options);
  const { foreign = {} } = options;
  for (const name of Object.keys(foreign)) queues.of(name); // throws for a queue that is not configured
  // The SDK itself would wait half a minute between two tries.
  const retries = { maxRetries, timeoutInMs: timeoutMs, retryDelayInMs: 500, maxRetryDelayInMs: 5_000 };

  async function open(): Promise<ServiceBusApi> {
    const opened = access();
    if ('connectionString' in opened) await refuseBasic();
    return openServiceBus(opened, retries);
  }

  /** `null` for an emulator. */
  async function administration(): Promise<Administration | null> {
    return openAdministration(access(), prepare);
  }

  /** Before the first request. Only for keys: they often have the Manage right, and an identity seldom has it. */
  async function refuseBasic(): Promise<void> {
    try {
      await (await administration())?.tier();
    } catch (error) {
      // Without an answer the first request fails too, and says why.
      if (error instanceof LongshoreError && error.code === 'BACKEND') return;
      throw error;
    }
  }

  return {
    ...serviceOf(open, serviceBusError),
    clock,
    queues,
    foreign,
    administration,
    /** `null` without a store of keys. */
    metadata: options.keys ? createMessageMetadata(options.keys, clock) : null,
    addressOf: queues.of,
  };
}
