/** Amazon SQS as a queue. It keeps no records and no keys: give `connect()`, `startWorker()` and `lambda()` a store. */

import { checkInteger } from '../../../core/base/checks.ts';
import { config } from '../../../core/base/errors.ts';
import { onDemand, verbsOf } from '../../../core/base/lazy.ts';
import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { JobSender, QueueBackend } from '../../../core/contract/queue.ts';
import type { Polling } from '../../../core/kit/long-polling.ts';
import type { Acceptor } from './accept.ts';
import type { Admin } from './admin.ts';
import { createConnection } from './connection.ts';
import { longestHiddenMs, maxBodyBytes } from './limits.ts';
import type { SqsOptions } from './options.ts';
import type { Queues } from './queues.ts';
import type { Settler } from './settle.ts';

export type { SqsOptions } from './options.ts';

export interface SqsBackend extends QueueBackend {
  readonly queues: Queues;
  /** Makes leases of messages that Lambda has received. Sends on those that came too early. */
  readonly accept: Acceptor['accept'];
  /** `nack` of many at once, without a delay and without an attempt. */
  readonly release: Settler['release'];
  readonly admin: QueueAdmin;
  /** Loads the SDK. Rejects with `CONFIG` where it cannot be. */
  readonly load: () => Promise<unknown>;
  /** Throws `CONFIG` unless these queues and their dead-letter queues are as they have to be. @default every queue configured */
  check(queues?: readonly string[]): Promise<void>;
}

/** Opens nothing before the first use, and loads each part when it is first used. */
export function sqs(options: SqsOptions): SqsBackend {
  const { longPollMs = 5_000, keys } = options;
  checkInteger('longPollMs of sqs()', longPollMs, 1_000);
  if (longPollMs > 20_000)
    throw config(`Expected longPollMs of sqs() to be at most 20000, got ${longPollMs}.`);
  const connection = createConnection(options);
  const { clock, queues } = connection;
  const refunds = keys
    ? onDemand(async () => {
        const { createRefundedDeliveries } = await import('../../../core/kit/metadata.ts');
        return createRefundedDeliveries(keys, clock, 'sqs-uncounted');
      })
    : null;
  const sender = onDemand(async () => (await import('./enqueue.ts')).createSender(connection));
  const settler = onDemand(async () => (await import('./settle.ts')).createSettler(connection, refunds));
  const acceptor = onDemand(async () =>
    (await import('./accept.ts')).createAcceptor(connection, settler, refunds),
  );
  const receiver = onDemand(async () =>
    (await import('./receive.ts')).createReceiver(connection, await acceptor()),
  );
  const admin = onDemand(async () => (await import('./admin.ts')).adminOf(connection));
  let polling: Promise<Polling> | null = null;
  const polls = onDemand(() => {
    polling = openPolling();
    return polling;
  });
  async function openPolling(): Promise<Polling> {
    const { createPolling } = await import('../../../core/kit/long-polling.ts');
    const { mostEntries } = await import('./batches.ts');
    const { createLaneOrder } = await import('./lanes.ts');
    const { receive } = await receiver();
    const order = createLaneOrder();
    return createPolling({
      clock,
      longPollMs,
      mostPerCall: mostEntries,
      mostPerPoll: () => mostEntries,
      addressesOf: (queue) => order.next(queues.lanesOf(queue)),
      receive,
      release: async (leases) => void (await (await settler()).release(leases)),
    });
  }

  return {
    name: 'sqs',
    load: connection.api,
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: longestHiddenMs },
    queues,
    keepsOrder: (queue, order) => order === 'wait' && queues.of(queue).fifo,
    ...verbsOf<Acceptor>(['accept'], acceptor),
    async check(names = queues.all().map(({ name }) => name)) {
      const { checkQueue } = await import('./check.ts');
      for (const queue of names) await checkQueue(connection, queue);
    },

    ...verbsOf<JobSender>(['enqueue'], sender),
    ...verbsOf<Pick<Polling, 'fetch'>>(['fetch'], polls),
    reapExpired: async () => 0, // SQS does it itself
    ...verbsOf<Omit<Settler, 'sendOn'>>(['ack', 'nack', 'abandon', 'renew', 'release'], settler),
    admin: {
      ...verbsOf<Omit<Admin, 'deadLetters'>>(['stats', 'check', 'peek', 'clear', 'pause', 'resume'], admin),
      know(names) {
        // Behind a prefix a name is as good as a URL. Where a list of URLs is given, there are no others.
        if (queues.prefix !== null) names.forEach(queues.of);
      },
      diagnose: async (request) => (await import('./diagnose.ts')).sqsDiagnosis(connection, request),
      deadLetters: verbsOf(['list', 'retry', 'discard'], async () => (await admin()).deadLetters),
    },
    async close() {
      await (await polling)?.close();
      await connection.close();
    },
  };
}
