/** Azure Service Bus as a queue. It keeps no records and no keys: give `connect()`, `startWorker()` and `azure()` a store. */

import { checkInteger } from '../../../core/base/checks.ts';
import { config, LongshoreError } from '../../../core/base/errors.ts';
import type { JobSettler, OutgoingMessage, QueueBackend, SendResult } from '../../../core/contract/queue.ts';
import { verbsOf } from '../../../core/kit/lazy.ts';
import type { Polling } from '../../../core/kit/long-polling.ts';
import { sendPerQueue } from '../../../core/kit/per-queue.ts';
import type { Prepare } from './administration.ts';
import { type Access, accessOf, type ConnectionOptions, createConnection } from './connection.ts';
import { serviceBusError } from './errors.ts';
import { createLocks } from './locks.ts';
import { parcelOf } from './message.ts';
import { createMoves } from './moves.ts';
import type { Queues } from './queues.ts';
import { createReceiving, type Receiving } from './receiving.ts';
import { createSettling } from './settling.ts';

export interface ServiceBusOptions extends ConnectionOptions {
  /** How long one receive call may wait, 1_000 to 60_000; `close()` waits as long for the last one. @default 5_000 */
  readonly longPollMs?: number;
  /** UTF-8 bytes. The Premium tier takes larger ones, where its namespace is told so. @default 253_952, for 256 KB */
  readonly maxBodyBytes?: number;
}

export interface Checked {
  /** `null`: an emulator, or not allowed to ask. */
  readonly tier: 'Standard' | 'Premium' | null;
  /** Entities of which is not known whether they detect duplicates. */
  readonly unknown: readonly string[];
}

export interface ServiceBusBackend extends QueueBackend {
  readonly queues: Queues;
  /** Makes a lease of a message that the Functions host has received. */
  readonly accept: Receiving['accept'];
  /** Settles such leases: the host completes the message itself, when the function has returned. */
  readonly pushed: JobSettler;
  /**
   * Throws `CONFIG` unless these queues, and their queues of dead letters, exist and, as far as this key or identity has the
   * Manage right to ask, are made as they must be. @default every queue configured
   */
  check(queues?: readonly string[]): Promise<Checked>;
}

/** What one receive call brings at most. An AMQP session keeps 2,048 unsettled ones. */
const mostPerCall = 500;
/** Service Bus counts properties; so much is kept free for ours, the reason and error of a dead letter included. */
const propertyBytes = 8_192;

export function serviceBus(options: ServiceBusOptions): ServiceBusBackend {
  const access = accessOf(options);
  return openServiceBusBackend(options, () => access);
}

/** @param access asked for on first use */
export function openServiceBusBackend(
  options: ServiceBusOptions,
  access: () => Access,
  prepare?: Prepare,
): ServiceBusBackend {
  const { longPollMs = 5_000, maxBodyBytes = 262_144 - propertyBytes, keys } = options;
  checkInteger('longPollMs of serviceBus()', longPollMs, 1_000);
  if (longPollMs > 60_000)
    throw config(`Expected longPollMs of serviceBus() to be at most 60000, got ${longPollMs}.`);
  checkInteger('maxBodyBytes of serviceBus()', maxBodyBytes, 1_024);
  const connection = createConnection(options, access, prepare);
  const { clock, queues, addressOf, call } = connection;
  const locks = createLocks(connection);
  const moves = keys ? createMoves(keys, clock.now) : null;
  const settling = createSettling(connection, locks, moves);
  const { receive, accept } = createReceiving(connection, locks, settling, moves);
  // A function neither fetches nor lists: what it does not need, it does not load.
  let polling: Promise<Polling> | null = null;
  const polls = (): Promise<Polling> => {
    polling ??= import('../../../core/kit/long-polling.ts').then(({ createPolling }) =>
      createPolling({
        clock,
        longPollMs,
        mostPerCall,
        mostPerPoll: 1, // the SDK waits a second for more
        addressesOf: (queue) => [addressOf(queue)],
        receive,
        async release(leases) {
          for (const lease of leases) await settling.own.nack(lease, { delayMs: 0, countAttempt: false });
        },
      }),
    );
    return polling;
  };
  const letters = async () => (await import('./dead-letters.ts')).deadLettersOf(connection);

  async function sendAll(queue: string, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const now = clock.now();
    const parcels = messages.map(({ id, job, group, notBefore, body, hints }) => {
      // A name of its own: under the one that it had here before, it would be dropped as a duplicate.
      const series = hints?.move ? `${id}:${hints.move}` : id;
      const tags = { id, job, group, attempts: 0, copies: 0, series, interrupted: false };
      return parcelOf(body, tags, notBefore, now);
    });
    const during = `sending to queue "${queue}"`;
    const failures = await call(during, (api) => api.send(addressOf(queue).entity, parcels));
    return messages.map(({ id }, i) =>
      failures[i] === null
        ? { ok: true, id, duplicate: false }
        : { ok: false, id, error: serviceBusError(during, failures[i]) },
    );
  }

  return {
    name: 'servicebus',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    queues,
    accept,
    pushed: settling.pushed,
    async check(names = queues.all().map(({ name }) => name)) {
      for (const { name, entity, failedEntity } of names.map(addressOf)) {
        for (const one of [entity, failedEntity])
          await call(`looking for "${one}", which queue "${name}" needs`, (api) =>
            api.peek({ name: one }, '1', 1),
          );
      }
      const entities = names.map(addressOf).flatMap(({ entity, failedEntity }) => [entity, failedEntity]);
      const administration = await connection.administration();
      const tier = (await administration?.tier()) as Checked['tier'] | undefined;
      const unknown: string[] = [];
      for (const entity of entities) if (!(await administration?.queue(entity))) unknown.push(entity);
      return { tier: tier ?? null, unknown };
    },

    enqueue: (messages) =>
      sendPerQueue(messages, {
        refusal(message) {
          addressOf(message.queue);
          return tooLarge(message, maxBodyBytes);
        },
        addressOf: ({ queue }) => queue,
        send: sendAll,
      }),
    async fetch(request) {
      await locks.released();
      return (await polls()).fetch(request);
    },
    async reapExpired() {
      await locks.released(); // what was held here; Service Bus itself looks after the rest
      return 0;
    },
    ack: settling.own.ack,
    nack: settling.own.nack,
    abandon: settling.own.abandon,
    renew: settling.own.renew,
    admin: {
      async know(names) {
        // Where names are mapped, whoever has made the map knows which queues are meant.
        if (options.queues === undefined) for (const name of names) addressOf(name);
      },
      stats: async (queue) => (await import('./dead-letters.ts')).statsOf(connection, queue),
      deadLetters: verbsOf(['list', 'retry', 'discard'], letters),
      peek: () => refuse('tell what would be fetched next: it shows running messages like waiting ones'),
      clear: () => refuse('clear a queue and leave what is running. Purge it in the portal'),
      pause: () => refuse('pause. Stop its workers, or set the queue to ReceiveDisabled in the portal'),
      resume: () => refuse('pause, so there is nothing to resume. Set the queue to Active in the portal'),
    },
    async close() {
      await (await polling)?.close();
      locks.close();
      await connection.close();
    },
  };
}

function tooLarge({ body }: OutgoingMessage, maxBodyBytes: number): LongshoreError | null {
  if (body.length * 3 <= maxBodyBytes || Buffer.byteLength(body) <= maxBodyBytes) return null;
  return new LongshoreError(
    'LIMIT',
    `Expected a body of at most ${maxBodyBytes} bytes, got ${Buffer.byteLength(body)}. Store the data elsewhere and send its id.`,
  );
}

async function refuse(what: string): Promise<never> {
  throw config(`Service Bus cannot ${what}.`);
}
