/** Azure Service Bus as a queue. It keeps no records and no keys: give `connect()`, `startWorker()` and `azure()` a store. */

import { checkInteger } from '../../../core/base/checks.ts';
import { config } from '../../../core/base/errors.ts';
import type { JobSettler, QueueBackend } from '../../../core/contract/queue.ts';
import { createPolling } from '../../../core/kit/long-polling.ts';
import { createWarnings } from '../../../core/kit/warnings.ts';
import { type Access, accessOf } from './access.ts';
import type { Prepare } from './administration.ts';
import { adviceFor, type Checked, checkQueues, serviceBusDiagnosis } from './check.ts';
import { type ConnectionOptions, createConnection } from './connection.ts';
import { deadLettersOf, statsOf } from './dead-letters.ts';
import { createSender } from './enqueue.ts';
import { createLocks } from './locks.ts';
import type { Queues } from './queues.ts';
import { createReceiver, type Receiver } from './receive.ts';
import { createSettlers } from './settle.ts';

export type { Checked } from './check.ts';

export interface ServiceBusOptions extends ConnectionOptions {
  /** How long one receive call may wait in ms, 1_000 to 60_000; `close()` waits as long for the last call. @default 5_000 */
  readonly longPollMs?: number;
  /** The largest body in bytes of UTF-8. The Premium tier accepts larger ones if its namespace allows it. @default 253_952, for 256 KB */
  readonly maxBodyBytes?: number;
}

export interface ServiceBusBackend extends QueueBackend {
  readonly queues: Queues;
  /** Makes a lease from a message that the Functions host has received. */
  readonly accept: Receiver['accept'];
  /** Settles such leases. The host completes the message when the function returns. */
  readonly pushed: JobSettler;
  /**
   * Throws `CONFIG` unless these queues and their `-failed` queues exist and this key or identity may send to them and receive from them. With
   * the Manage right it also throws for settings that lose or double jobs. @default every configured queue
   */
  check(queues?: readonly string[]): Promise<Checked>;
  /** Throws `CONFIG` unless the `-failed` queue of this queue exists and this key or identity may send to it. */
  checkFailed(queue: string): Promise<void>;
}

/** The most messages per receive call. An AMQP session keeps 2,048 unsettled messages. */
const mostPerCall = 500;
/** Service Bus counts properties as part of the message. This is reserved for them, including reason and error of a dead letter. */
const propertyBytes = 8_192;

export function serviceBus(options: ServiceBusOptions): ServiceBusBackend {
  const access = accessOf(options);
  return openServiceBusBackend(options, () => access);
}

/** @param access called on first use */
export function openServiceBusBackend(
  options: ServiceBusOptions,
  access: () => Access,
  prepare?: Prepare,
): ServiceBusBackend {
  const { longPollMs = 5_000, maxBodyBytes = 262_144 - propertyBytes } = options;
  checkInteger('longPollMs of serviceBus()', longPollMs, 1_000);
  if (longPollMs > 60_000)
    throw config(`Expected longPollMs of serviceBus() to be at most 60000, got ${longPollMs}.`);
  checkInteger('maxBodyBytes of serviceBus()', maxBodyBytes, 1_024);
  const connection = createConnection(options, access, prepare);
  const { clock, queues, addressOf, call } = connection;
  const warnings = createWarnings();
  const locks = createLocks(connection);
  const { own, pushed, repeat } = createSettlers(connection, locks);
  const { receive, accept } = createReceiver(connection, locks, repeat);
  const polling = createPolling({
    clock,
    longPollMs,
    mostPerCall,
    mostPerPoll: () => mostPerCall,
    addressesOf: (queue) => [addressOf(queue)],
    receive,
    async release(leases) {
      for (const lease of leases) await own.nack(lease, { delayMs: 0, countAttempt: false });
    },
  });

  return {
    name: 'servicebus',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    queues,
    accept,
    pushed,
    check: async (names = queues.all().map(({ name }) => name)) => checkQueues(connection, names),

    checkFailed(queue) {
      const { failedEntity } = addressOf(queue);
      const during = `looking for "${failedEntity}", where functions send the dead letters of queue "${queue}"`;
      return call(during, (api) => api.openSender(failedEntity));
    },

    keepsOrder: (queue, order) => order === 'step-aside' && addressOf(queue).sessions,
    ...createSender(connection, maxBodyBytes, warnings.warn),
    onWarning: warnings.onWarning,
    async fetch(request) {
      const uncounted = connection.metadata
        ? undefined
        : request.queues.find((name) => addressOf(name).sessions);
      if (uncounted !== undefined)
        throw config(
          `Expected serviceBus() to have keys, because ${uncounted} has sessions: without them a job that kills its process is never counted. Give it the keys of a store: serviceBus({ keys: store.keys }).`,
        );
      await locks.released();
      return polling.fetch(request);
    },
    async reapExpired() {
      await locks.released(); // of leases held here; Service Bus does the rest
      return 0;
    },
    ...own,
    admin: {
      async know(names) {
        // If `queues` is given, it names all queues.
        if (options.queues === undefined) for (const name of names) addressOf(name);
      },
      check: async (needsOf) => adviceFor(connection, needsOf),
      diagnose: async (request) => serviceBusDiagnosis(connection, request),
      statsScanMessages: true,
      stats: async (queue) => statsOf(connection, queue),
      deadLetters: deadLettersOf(connection, maxBodyBytes),
      peek: () => refuse('tell what would be fetched next: it shows running messages like waiting ones'),
      clear: () =>
        refuse(
          'clear a queue and leave what is running. Cancel its jobs; purging it in the portal leaves their records pending',
        ),
      setPaused: (_, isPaused) =>
        refuse(
          isPaused
            ? 'pause. Stop its workers, or set the queue to ReceiveDisabled in the portal'
            : 'pause, so there is nothing to resume. Set the queue to Active in the portal',
        ),
    },
    async close() {
      await polling.close();
      locks.close();
      await connection.close();
    },
  };
}

async function refuse(what: string): Promise<never> {
  throw config(`Service Bus cannot ${what}.`);
}
