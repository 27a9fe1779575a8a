/** Amazon SQS as a queue. It keeps no records and no keys: give `connect()`, `startWorker()` and `lambda()` a store. */

import { checkInteger } from '../../../core/base/checks.ts';
import { config } from '../../../core/base/errors.ts';
import { onDemand, verbsOf } from '../../../core/base/lazy.ts';
import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { createPolling } from '../../../core/kit/long-polling.ts';
import { createRefundedDeliveries } from '../../../core/kit/metadata.ts';
import type { Admin } from './admin.ts';
import { mostEntries } from './batches.ts';
import { type ConnectionOptions, createConnection } from './connection.ts';
import { createSender } from './enqueue.ts';
import { longestHiddenMs, maxBodyBytes } from './message.ts';
import { createLaneOrder, type Queues } from './queues.ts';
import { type Acceptor, createAcceptor, createReceiver } from './receive.ts';
import { createSettler, type Settler } from './settle.ts';

export interface SqsOptions extends ConnectionOptions {
  /** How long one receive call may wait in ms, 1_000 to 20_000; `close()` waits as long for the last call. @default 5_000 */
  readonly longPollMs?: number;
}

export interface SqsBackend extends QueueBackend {
  readonly queues: Queues;
  /** Makes leases from messages that Lambda has received. Messages that came too early are sent again with the rest of their delay. */
  readonly accept: Acceptor['accept'];
  /** `nack` of many leases at once, without a delay and without counting an attempt. */
  readonly release: Settler['release'];
  readonly admin: QueueAdmin;
  /** Loads the SDK. Rejects with `CONFIG` if it cannot be loaded. */
  readonly load: () => Promise<unknown>;
  /** Throws `CONFIG` unless these queues and their dead-letter queues exist with suitable settings. @default every configured queue */
  check(queues?: readonly string[]): Promise<void>;
}

/** Opens no connection and loads no SDK before the first use. */
export function sqs(options: SqsOptions): SqsBackend {
  const { longPollMs = 5_000, keys } = options;
  checkInteger('longPollMs of sqs()', longPollMs, 1_000);
  if (longPollMs > 20_000)
    throw config(`Expected longPollMs of sqs() to be at most 20000, got ${longPollMs}.`);
  const connection = createConnection(options);
  const { clock, queues } = connection;
  const refunds = keys ? createRefundedDeliveries(keys, clock, 'sqs-uncounted') : null;
  const { sendOn, ...settler } = createSettler(connection, refunds);
  const acceptor = createAcceptor(connection, sendOn, refunds);
  /** For operators, and for a polling worker at its start: a function does not need it. */
  const admin = onDemand(async () => (await import('./admin.ts')).adminOf(connection));
  const order = createLaneOrder();
  const polling = createPolling({
    clock,
    longPollMs,
    mostPerCall: mostEntries,
    mostPerPoll: () => mostEntries,
    addressesOf: (queue) => order.next(queues.lanesOf(queue)),
    receive: createReceiver(connection, acceptor, admin).receive,
    release: async (leases) => void (await settler.release(leases)),
  });

  return {
    name: 'sqs',
    load: connection.api,
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: longestHiddenMs },
    queues,
    keepsOrder: (queue, order) => order === 'wait' && queues.of(queue).fifo,
    ...acceptor,
    async check(names = queues.all().map(({ name }) => name)) {
      for (const queue of names) await (await admin()).checkQueue(queue);
    },

    ...createSender(connection),
    fetch: polling.fetch,
    reapExpired: async () => 0, // SQS does this itself
    ...settler,
    admin: {
      ...verbsOf<Omit<Admin, 'checkQueue' | 'deadLetters'>>(
        ['stats', 'check', 'peek', 'clear', 'setPaused', 'diagnose'],
        admin,
      ),
      deadLetters: verbsOf(['list', 'retry', 'discard'], async () => (await admin()).deadLetters),
      know(names) {
        // With a prefix any name gives a URL. With a list of URLs there are no other queues.
        if (queues.prefix !== null) names.forEach(queues.of);
      },
    },
    async close() {
      await polling.close();
      await connection.close();
    },
  };
}
