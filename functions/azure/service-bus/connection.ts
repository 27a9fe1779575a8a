/** What all parts of the backend share: the queues, the clock, and the SDK once somebody needs it. */

import { checkInteger } from '../../../core/base/checks.ts';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { config, LongshoreError, shown } from '../../../core/base/errors.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import type { Administration, Prepare } from './administration.ts';
import type { ServiceBusApi } from './api.ts';
import { serviceBusError } from './errors.ts';
import { type QueueAddress, type QueueOptions, type Queues, resolveQueues } from './queues.ts';

/** A `TokenCredential` of `@azure/identity`. Described by its shape, so that a program without its types compiles. */
export interface Credential {
  getToken(scopes: string | string[], options?: never): Promise<unknown>;
}

/** How to get in. */
export type Access =
  | { readonly connectionString: string }
  | { readonly fullyQualifiedNamespace: string; readonly credential: Credential };

export interface ConnectionOptions extends QueueOptions {
  /** `Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…`, of the namespace. Either this or the two below. */
  readonly connectionString?: string;
  /** `shop.servicebus.windows.net`, with `credential`. */
  readonly fullyQualifiedNamespace?: string;
  /** Such as `new DefaultAzureCredential()` of `@azure/identity`. */
  readonly credential?: Credential;
  /**
   * Where it is remembered that a message was replaced by its next attempt, or by a dead letter. Without it a process that is
   * killed between the two leaves both. @default nowhere
   */
  readonly keys?: KeyStore;
  /** How often the SDK tries a request again that failed through no fault of ours. @default 3 */
  readonly maxRetries?: number;
  /** How long one try may take. @default 10_000 */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

export interface Connection {
  readonly clock: Clock;
  readonly queues: Queues;
  /** Throws `CONFIG` for a queue that is not known. */
  addressOf(queue: string): QueueAddress;
  api(): Promise<ServiceBusApi>;
  /** Runs `work`; what the SDK throws comes out as a LongshoreError. `during` is for people. */
  call<T>(during: string, work: (api: ServiceBusApi) => Promise<T>): Promise<T>;
  /** `null` for an emulator. */
  administration(): Promise<Administration | null>;
  close(): Promise<void>;
}

/**
 * @param access asked for on first use, so that a setting may be missing until then
 * @param prepare of the namespace's administration, in tests
 */
export function createConnection(
  options: ConnectionOptions,
  access: () => Access,
  prepare?: Prepare,
): Connection {
  const { clock = systemClock, maxRetries = 3, timeoutMs = 10_000 } = options;
  checkInteger('maxRetries of serviceBus()', maxRetries, 0);
  checkInteger('timeoutMs of serviceBus()', timeoutMs, 1_000);
  const queues = resolveQueues(options);
  // The SDK itself would wait half a minute between two tries.
  const retries = { maxRetries, timeoutInMs: timeoutMs, retryDelayInMs: 500, maxRetryDelayInMs: 5_000 };
  let opening: Promise<ServiceBusApi> | null = null;

  function api(): Promise<ServiceBusApi> {
    opening ??= open();
    return opening;
  }

  async function open(): Promise<ServiceBusApi> {
    try {
      const way = access();
      if ('connectionString' in way) await refuseBasic();
      const { openServiceBus } = await import('./sdk.ts');
      return openServiceBus(way, retries);
    } catch (error) {
      opening = null; // a setting that is missing may be there the next time
      throw error;
    }
  }

  async function administration(): Promise<Administration | null> {
    const { openAdministration } = await import('./administration.ts');
    return openAdministration(access(), prepare);
  }

  /** Before anything is sent or taken. An identity seldom has the Manage right, and a key that has it often is whose owner chose Basic. */
  async function refuseBasic(): Promise<void> {
    try {
      await (await administration())?.tier();
    } catch (error) {
      // Where nobody answers, the first request will say so, and why.
      if (error instanceof LongshoreError && error.code === 'BACKEND') return;
      throw error;
    }
  }

  return {
    clock,
    queues,
    administration,
    addressOf: queues.of,
    api,
    async call(during, work) {
      try {
        return await work(await api());
      } catch (error) {
        throw serviceBusError(during, error);
      }
    },
    async close() {
      const opened = opening;
      opening = null;
      await (await opened?.catch(() => null))?.close();
    },
  };
}

/** Throws `CONFIG` for options that name no way in, or two. */
export function accessOf(options: ConnectionOptions): Access {
  const { connectionString, fullyQualifiedNamespace, credential } = options;
  if ((connectionString === undefined) === (fullyQualifiedNamespace === undefined)) {
    const got = connectionString === undefined ? 'neither' : 'both';
    throw config(
      `serviceBus() expects either connectionString, or fullyQualifiedNamespace and credential, got ${got}.`,
    );
  }
  if (connectionString !== undefined) return { connectionString: checkedString(connectionString) };
  if (typeof fullyQualifiedNamespace !== 'string' || !hostPattern.test(fullyQualifiedNamespace)) {
    throw config(
      `Expected fullyQualifiedNamespace to be like shop.servicebus.windows.net, got ${shown(fullyQualifiedNamespace)}.`,
    );
  }
  if (typeof credential?.getToken !== 'function') {
    throw config(
      `Expected a credential beside fullyQualifiedNamespace, got ${shown(credential)}. Use new DefaultAzureCredential() of @azure/identity.`,
    );
  }
  return { fullyQualifiedNamespace, credential };
}

const hostPattern = /^[a-z0-9][a-z0-9.-]*[a-z0-9]$/i;

/** No piece of it appears in an error: it is a secret. */
function checkedString(text: unknown): string {
  if (typeof text !== 'string' || !/(^|;)\s*Endpoint=sb:\/\/[^;]+/i.test(text)) {
    throw config(
      'Expected connectionString to be like Endpoint=sb://shop.servicebus.windows.net;SharedAccessKeyName=…;SharedAccessKey=…, got something else.',
    );
  }
  const { host } = new URL(text.replace(/^.*Endpoint=sb:/i, 'http:').replace(/;.*$/, ''));
  if (/(^|;)\s*EntityPath=/i.test(text)) {
    throw config(
      `The connection string for ${host} is that of one queue (EntityPath). Jobs also need their dead letters: take one of the namespace.`,
    );
  }
  return text;
}
