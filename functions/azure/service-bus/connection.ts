/** Shared by all parts of the backend: the queues, the clock, and the SDK, which is loaded on first use. */

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
  /** `Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…` of the namespace. Use either this or the next two options. */
  readonly connectionString?: string;
  /** `shop.servicebus.windows.net`, with `credential`. */
  readonly fullyQualifiedNamespace?: string;
  /** For example `new DefaultAzureCredential()` of `@azure/identity`. */
  readonly credential?: Credential;
  /**
   * Records that a message will be replaced by its next attempt or by a dead letter. Without it a process that is killed between sending and
   * completing leaves both messages. @default not recorded
   */
  readonly keys?: KeyStore;
  /** How often the SDK retries a request that failed because of the service or the network. @default 3 */
  readonly maxRetries?: number;
  /** Timeout of one try of a request; a receive call also has its wait. After a timeout another connection is opened. @default 10_000 */
  readonly timeoutMs?: number;
  /** By queue: the rules of `foreign()` that make jobs of other programs' messages. @default such messages are rejected */
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
  for (const name of Object.keys(foreign)) queues.of(name); // throws for an unknown queue
  // By default the SDK would wait half a minute between two tries.
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

  /** Runs before the first request. Only for keys: they often have the Manage right; an identity rarely has it. */
  async function refuseBasic(): Promise<void> {
    try {
      await (await administration())?.tier();
    } catch (error) {
      // If there is no answer, the first request fails, too, and reports why.
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
