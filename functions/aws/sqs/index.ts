/** Amazon SQS as a queue. It keeps no records and no keys: give `connect()`, `startWorker()` and `lambda()` a store. */

import { checkInteger } from '../../../core/base/checks.ts';
import { config } from '../../../core/base/errors.ts';
import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { JobSender, QueueBackend } from '../../../core/contract/queue.ts';
import { onDemand, verbsOf } from '../../../core/kit/lazy.ts';
import type { Polling } from '../../../core/kit/long-polling.ts';
import type { Accepting } from './accepting.ts';
import type { Admin } from './admin.ts';
import { type ConnectionOptions, createConnection } from './connection.ts';
import { longestHiddenMs, maxBodyBytes } from './limits.ts';
import type { Queues } from './queues.ts';
import type { Settling } from './settling.ts';

export interface SqsOptions extends ConnectionOptions {
  /** How long one receive call may wait, 1_000 to 20_000; `close()` waits as long for the last one. @default 5_000 */
  readonly longPollMs?: number;
}

export interface SqsBackend extends QueueBackend {
  readonly queues: Queues;
  /** Makes leases of what was received elsewhere; what is not due yet is sent on. */
  readonly accept: Accepting['accept'];
  readonly admin: QueueAdmin;
  /** Throws `CONFIG` unless these queues and their dead-letter queues exist. @default every queue configured */
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
  const uncounted = onDemand(async () =>
    keys ? (await import('./uncounted.ts')).createUncounted(keys, clock.now) : null,
  );

  const sender = onDemand(async () => {
    const { createSender } = await import('./sender.ts');
    return createSender(connection);
  });
  const settling = onDemand(async () => {
    const { createSettling } = await import('./settling.ts');
    return createSettling(connection, await uncounted());
  });
  const accepting = onDemand(async () => {
    const { createAccepting } = await import('./accepting.ts');
    return createAccepting(connection, settling, await uncounted());
  });
  const receiving = onDemand(async () => {
    const { createReceiving } = await import('./receiving.ts');
    return createReceiving(connection, await accepting());
  });
  let polling: Promise<Polling> | null = null;
  const polls = onDemand(() => {
    polling = openPolling();
    return polling;
  });
  async function openPolling(): Promise<Polling> {
    const [{ createPolling }, { mostEntries }, { createTurns }, { receive }] = await Promise.all([
      import('../../../core/kit/long-polling.ts'),
      import('./batches.ts'),
      import('./lanes.ts'),
      receiving(),
    ]);
    const turns = createTurns();
    return createPolling({
      clock,
      longPollMs,
      mostPerCall: mostEntries,
      mostPerPoll: mostEntries,
      addressesOf: (queue) => turns.next(queues.lanesOf(queue)),
      receive,
      async release(leases) {
        const { nack } = await settling();
        for (const lease of leases) await nack(lease, { delayMs: 0, countAttempt: false });
      },
    });
  }
  const admin = onDemand(async () => (await import('./admin.ts')).adminOf(connection));

  return {
    name: 'sqs',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: longestHiddenMs },
    queues,
    ...verbsOf<Pick<Accepting, 'accept'>>(['accept'], accepting),
    async check(names = queues.all().map(({ name }) => name)) {
      const { check } = await receiving();
      for (const queue of names) await check(queue);
    },

    ...verbsOf<JobSender>(['enqueue'], sender),
    ...verbsOf<Pick<Polling, 'fetch'>>(['fetch'], polls),
    reapExpired: async () => 0, // SQS does it itself
    ack: async (acks) => (await settling()).ack(acks.map(({ lease }) => lease)),
    ...verbsOf<Pick<Settling, 'nack' | 'abandon' | 'renew'>>(['nack', 'abandon', 'renew'], settling),
    admin: {
      ...verbsOf<Omit<Admin, 'deadLetters'>>(['stats', 'know', 'peek', 'clear', 'pause', 'resume'], admin),
      deadLetters: verbsOf(['list', 'retry', 'discard'], async () => (await admin()).deadLetters),
    },
    async close() {
      await (await polling)?.close();
      await connection.close();
    },
  };
}
